namespace Weir.Lab.Report.Tables;

/// <summary>The tables of a result: the same in the terminal, in Markdown and on the page.</summary>
internal static class ResultTables
{
    private const string Nothing = "-";

    /// <summary>All tables but that of the single rounds.</summary>
    public static IReadOnlyList<Table> Summary(ResultFile result) => [.. OfRounds(result), .. ProfileTables.All(result)];

    /// <summary>The tables that are made of the rounds, that is, without those of profiles.</summary>
    public static IEnumerable<Table> OfRounds(ResultFile result) => new[]
    {
        Comparisons(result), Fits(result), Arms(result), Passes(result), Deliveries(result), Programs(result), Latency(result), Cost(result), Modes(result),
    }.OfType<Table>();

    /// <summary>What each arm reached and what it cost.</summary>
    public static Table? Arms(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured && !a.IsProgram && !a.HasPasses && !a.HasQueue)];
        return arms.Length == 0 ? null : Table.Of(
            $"Arms ({result.Unit} per second)",
            1,
            arms,
            ("arm", static a => a.Name),
            (Table.Workers, static a => Numbers.Grouped(a.Workers)),
            ($"{result.Unit}/s", static a => Numbers.Rate(a.Rate().Median)),
            ("interval", static a => Interval(a.RateInterval())),
            ("lowest..highest", static a => Range(a.Rate())),
            ("mean of rounds", static a => a.Counted.Any(static r => r.Bytes is not null) ? Numbers.Rate(a.Counted.Average(static r => r.Rate)) : null),
            ("MB/s", static a => a.Mean(static r => r.Bytes / r.Seconds / 1e6) is { } rate ? Numbers.Short(rate) : null),
            ("rounds", static a => Numbers.Grouped(a.Counted.Count)),
            ("fairness (least..most)", static a => Fairness(a)),
            ("longest gap", static a => a.Max(static r => r.LongestGapSeconds) is { } gap ? Numbers.Nanoseconds(gap * 1e9) : null)) with
        {
            Important = [Table.Workers, $"{result.Unit}/s", "interval", "rounds", "MB/s", "longest gap"],
        };
    }

    /// <summary>What an item of a pass took in each arm. An arm that was stopped before its first round ended has the part of it that there is.</summary>
    public static Table? Passes(ResultFile result)
    {
        (ArmRecord Arm, PassFigures? Figures)[] rows = [.. result.Arms.Select(a => (a, PassFigures.Of(a, result.Arms)))];
        (string, Func<(ArmRecord Arm, PassFigures? Figures), string?>) Column(string title, Func<PassFigures, string> cell) =>
            (title, row => row.Figures is { } figures ? cell(figures) : Nothing);
        (string, Func<(ArmRecord Arm, PassFigures? Figures), string?>) Ratio(string title, Func<PassFigures, double?> ratio) =>
            (title, row => rows.Any(r => r.Figures is { } f && ratio(f) is not null)
                ? row.Figures is { } figures && ratio(figures) is { } known ? Numbers.Short(known) : Nothing
                : null);
        return !result.Arms.Any(static a => a.HasPasses) ? null : Table.Of(
            "Items",
            1,
            rows,
            ("arm", static row => row.Arm.Settings.GetValueOrDefault(PassFigures.Runtime, row.Arm.Name)
                + (row.Arm.Rounds.Count == 0 || row.Arm.Rounds.Any(static r => r.Partial) ? " (partial)" : "")),
            Column("items/s", static f => Numbers.Scaled(f.ThroughputPerSecond)),
            Column("[min..max]", static f => $"[{Numbers.Scaled(f.ThroughputMin, f.ThroughputMax)}]"),
            Column("ns/item", static f => Numbers.Short(f.NsPerItem)),
            Column("above direct", static f => f.NsAboveDirect is { } above ? (above > 0 ? "+" : "") + Numbers.Short(above) : Nothing),
            Column("B/item", static f => Numbers.Short(Math.Max(0, f.BytesPerItem))),
            Column("CPU s/M", static f => Numbers.Short(f.CpuSecondsPerMillion)),
            Column("GC 0/1/2 per M", static f => string.Join('/', f.GcPerMillion.Select(static c => FormattableString.Invariant($"{c:#,0.##}")))),
            Ratio("x loop", static f => f.RatioToLoop),
            Ratio("x ForEachAsync", static f => f.RatioToPlatform)) with
        {
            Important = ["items/s", "[min..max]", "ns/item", "x loop", "x ForEachAsync", "B/item", "CPU s/M"],
        };
    }

    /// <summary>What each queue carried from end to end. An arm that was stopped before its first round ended has the part of it that there is.</summary>
    public static Table? Deliveries(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.HasQueue).Select(static a => a.OrPart()).Where(static a => a.IsMeasured)];
        HashSet<string> whole = [.. result.Arms.Where(static a => a.IsMeasured).Select(static a => a.Label)];
        LatencyHistogram? LatencyOf(ArmRecord arm) => arm.Latency(static r => r.Response) ?? arm.Latency(static r => r.Service);
        return arms.Length == 0 ? null : Table.Of(
            "Queues, from publishing to acknowledged",
            1,
            arms,
            [
                ("queue", a => whole.Contains(a.Label) ? a.Name : $"{a.Name} (partial)"),
                ($"{result.Unit}/s", static a => Numbers.Scaled(a.Rate().Median)),
                ("[min..max]", static a => $"[{Numbers.Scaled(a.Rate().Min, a.Rate().Max)}]"),
                .. KnownPercentile.Usual.Take(4).Select(p => (FormattableString.Invariant($"p{p:0.##}"),
                    (Func<ArmRecord, string?>)(a => LatencyOf(a) is { } times ? Percentile(times, p, result.Machine.ClockNs) : null))),
                ("max", a => LatencyOf(a) is { } times ? Numbers.Nanoseconds(times.Max) : null),
                ("duplicates", static a => Numbers.Grouped(a.Counted.Sum(static r => r.Duplicates ?? 0))),
                ("lost", static a => Numbers.Grouped(a.Counted.Sum(static r => r.Lost ?? 0))),
                ("out of order", static a => Numbers.Grouped(a.Counted.Sum(static r => r.OutOfOrder ?? 0))),
                ("CPU s/M", static a => Numbers.Short(
                    a.Counted.Sum(static r => r.CpuUserSeconds + r.CpuSystemSeconds) * 1e6 / Math.Max(1, a.Counted.Sum(static r => r.Operations)))),
            ]) with
        {
            Important = [$"{result.Unit}/s", "p50", "p99", "lost", "duplicates", "out of order", "max"],
        };
    }

    /// <summary>How long each program took, and what it used.</summary>
    public static Table? Programs(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured && a.IsProgram)];
        return arms.Length == 0 ? null : Table.Of(
            "Programs (a run)",
            1,
            arms,
            ("program", static a => a.Name),
            ("time", static a => Seconds(1 / a.RateInterval().Median)),
            ("interval", static a => a.RateInterval() is { Level: > 0 } rate
                ? FormattableString.Invariant($"{Seconds(1 / rate.High)}..{Seconds(1 / rate.Low)} ({rate.Level * 100:0} %)")
                : null),
            ("mean ± deviation", static a => RunTimes.Of(a) is { } times ? $"{Seconds(times.MeanSeconds)} ± {Seconds(times.DeviationSeconds)}" : null),
            ("shortest..longest", static a => $"{Seconds(1 / a.Rate().Max)}..{Seconds(1 / a.Rate().Min)}"),
            ("user", static a => Seconds(Spread.Of(a.Counted.Select(static r => r.CpuUserSeconds)).Median)),
            ("system", static a => Seconds(Spread.Of(a.Counted.Select(static r => r.CpuSystemSeconds)).Median)),
            ("peak memory", static a => a.Max(static r => r.PeakResidentBytes) is { } most ? Numbers.Bytes(most) : null),
            ("rounds", static a => Numbers.Grouped(a.Counted.Count)),
            ($"{result.Unit}/s", static a => Numbers.Rate(a.Rate().Median)),
            ("shell", static a => a.Mean(static r => r.OverheadNs) is { } overhead
                ? $"{Numbers.Nanoseconds(overhead)} {(a.Counted.Any(static r => r.OverheadSubtracted) ? "subtracted" : "included")}"
                : null)) with
        {
            Important = ["time", "interval", "peak memory", "user", "system", "rounds"],
        };
    }

    /// <summary>How deep each arm worked, and what it cost.</summary>
    public static Table? Cost(ResultFile result)
    {
        ArmRecord[] arms = [.. result.Arms.Where(static a => a.IsMeasured && !a.IsProgram && !a.HasPasses && !a.HasQueue)];
        bool bytes = arms.Any(static a => a.Counted.Any(static r => r.Bytes is not null));
        return arms.Length == 0 ? null : Table.Of(
            "In flight, and cost",
            1,
            arms,
            ("arm", static a => a.Name),
            (Table.Workers, static a => Numbers.Grouped(a.Workers)),
            ("open avg/max", static a => Depth(a.Mean(static r => r.Open), a.Max(static r => r.OpenMax))),
            ("waiting reads avg/max", static a => Depth(a.Mean(static r => r.InFlight), a.Max(static r => r.InFlightMax))),
            ("pool threads", static a => Numbers.Grouped(a.Max(static r => r.PoolThreads) ?? 0)),
            ("cores", static a => FormattableString.Invariant($"{a.Mean(static r => r.Cores):0.00}")),
            ("of the processors", a => bytes && result.Machine.Cores > 0
                ? FormattableString.Invariant($"{a.Mean(static r => r.Cores) / result.Machine.Cores * 100:0.0} %")
                : null),
            ("resident memory", a => bytes && a.Max(static r => r.PeakResidentBytes) is > 0 and { } most ? Numbers.Bytes(most) : null),
            (bytes ? "B/file" : "B/op", static a => PerOperation(a)),
            ("overhead", static a => Overhead(a)),
            ("from device", static a => a.Mean(static r => r.Bytes > 0 ? r.DeviceBytes / (double)r.Bytes : null) is { } share
                ? FormattableString.Invariant($"{share * 100:0.0} %")
                : null)) with
        {
            Important = [Table.Workers, "cores", "B/op", "B/file", "from device", "open avg/max", "overhead"],
        };
    }

    /// <summary>The rates of synchronous and asynchronous workers beside each other; only where both were measured.</summary>
    public static Table? Modes(ResultFile result)
    {
        (int Workers, ArmRecord Sync, ArmRecord Async)[] pairs =
        [
            .. from sync in result.Arms
               join async in result.Arms on sync.Workers equals async.Workers
               where sync is { Name: "sync", IsMeasured: true } && async is { Name: "async", IsMeasured: true }
               select (sync.Workers, sync, async),
        ];
        return pairs.Length == 0 ? null : Table.Of(
            "Asynchronous and synchronous",
            1,
            pairs,
            ("workers (threads)", static p => Numbers.Grouped(p.Workers)),
            ("async mode", static p => FormattableString.Invariant($"{p.Async.Rate().Median:0.00000}")),
            ("sync mode", static p => FormattableString.Invariant($"{p.Sync.Rate().Median:0.00000}")),
            ("ratio (sync/async)", static p => FormattableString.Invariant($"{p.Sync.Rate().Median / p.Async.Rate().Median:0.00}")));
    }

    /// <summary>The percentiles of each arm, from the start of an operation, and where there is a rate, from when it should have started.</summary>
    public static Table? Latency(ResultFile result)
    {
        List<(ArmRecord Arm, string From, LatencyHistogram Latency)> rows = [];
        foreach (ArmRecord arm in result.Arms)
        {
            if (arm.Latency(static r => r.Service) is { } service)
            {
                rows.Add((arm, "start", service));
            }

            if (arm.Latency(static r => r.Response) is { } response)
            {
                rows.Add((arm, "intended start", response));
            }
        }

        return rows.Count == 0 ? null : Table.Of(
            "Latency",
            1,
            rows,
            [
                ("arm", static r => r.Arm.Name),
                (Table.Workers, static r => Numbers.Grouped(r.Arm.Workers)),
                ("from", static r => r.From),
                .. KnownPercentile.Usual.Select(p => (FormattableString.Invariant($"p{p:0.##}"),
                    (Func<(ArmRecord Arm, string From, LatencyHistogram Latency), string?>)(r => Percentile(r.Latency, p, result.Machine.ClockNs)))),
                ("max", static r => Numbers.Nanoseconds(r.Latency.Max)),
                ("late starts", static r => r.Arm.Counted.Sum(static x => x.LateStarts) is { } late && r.Arm.Counted.Any(static x => x.LateStarts is not null)
                    ? Numbers.Grouped(late)
                    : null),
                ("dropped", static r => r.Arm.Counted.Sum(static x => x.Dropped) is { } dropped && r.Arm.Counted.Any(static x => x.Dropped is not null)
                    ? Numbers.Grouped(dropped)
                    : null),
            ]) with
        {
            Important = [Table.Workers, "from", "p50", "p99", "max", "p90", "p99.9", "dropped", "late starts"],
        };
    }

    /// <summary>A percentile as a text, if the measurements can tell it.</summary>
    /// <param name="latency">The latencies.</param>
    /// <param name="percentile">Which, from 0 to 100.</param>
    /// <param name="clock">What a reading of the clock costs, in nanoseconds.</param>
    /// <returns>The text, with a sign before an upper bound; <see langword="null"/> with too few latencies.</returns>
    internal static string? Percentile(LatencyHistogram latency, double percentile, double clock) =>
        KnownPercentile.Of(latency, percentile, clock) is { } known ? (known.IsBound ? "<" : "") + Numbers.Nanoseconds(known.Nanoseconds) : null;

    /// <summary>An interval of a rate with its level, as in <c>11.4..11.5 (98 %)</c>; <see langword="null"/> of a single round.</summary>
    internal static string? Interval(MedianInterval rate) => rate.Level <= 0 ? null
        : FormattableString.Invariant($"{Range(rate.Low, rate.High)} ({rate.Level * 100:0} %)");

    /// <summary>The verdicts.</summary>
    public static Table? Comparisons(ResultFile result) => result.Comparisons.Count == 0 ? null : Table.Of(
        "Comparisons",
        2,
        result.Comparisons,
        ("arm", static c => c.Arm),
        ("against", static c => c.Against),
        ("figure", c => result.Comparisons.All(static c => c.Figure == ComparedFigure.Rate) ? null : FigureWords.Of(c.Figure)),
        ("ratio", static c => c.IsFromNothing ? FormattableString.Invariant($"+{c.Value:#,0.#} B") : FormattableString.Invariant($"{c.Ratio:0.000}")),
        ("interval", static c => c.IsFromNothing ? "from nothing" : c.Interval),
        ("p", static c => Numbers.Short(c.P)),
        ("margin", static c => FormattableString.Invariant($"{c.Margin * 100:0.#} %")),
        ("verdict", static c => VerdictWords.Of(c.Verdict))) with
        {
            Important = ["figure", "ratio", "verdict", "interval", "p"],
        };

    /// <summary>The scaling laws.</summary>
    public static Table? Fits(ResultFile result) => result.Fits.Count == 0 ? null : Table.Of(
        "Scaling law",
        1,
        result.Fits,
        ("arm", static f => f.Name),
        ("law", static f => f.Law),
        ("one worker (lambda)", static f => Estimate(f, f.Lambda)),
        ("contention (sigma)", static f => Estimate(f, f.Sigma)),
        ("coherency (kappa)", static f => Estimate(f, f.Kappa)),
        ("peak at", static f => f.PeakWorkers is { } peak ? Numbers.Short(peak) : null),
        ("peak rate", static f => f.PeakRate is { } rate ? Numbers.Rate(rate) : null),
        ("R2", static f => FormattableString.Invariant($"{f.RSquared:0.000}")),
        ("lack of fit (p)", static f => f.LackOfFit is { } p ? FormattableString.Invariant($"{p:0.000}") : null),
        ("verdict", static f => f.Refused is null ? "usable" : "refused")) with
        {
            Important = ["law", "verdict", "peak at", "contention (sigma)", "coherency (kappa)", "one worker (lambda)"],
        };

    /// <summary>Every round, in the order in which they were measured.</summary>
    public static Table Rounds(ResultFile result)
    {
        (ArmRecord Arm, RoundRecord Round)[] rounds = [.. result.Arms.SelectMany(static a => a.Rounds, static (a, r) => (a, r)).OrderBy(static x => x.r.Order)];
        return Table.Of(
            "Rounds",
            2,
            rounds,
            ("order", static x => Numbers.Grouped(x.Round.Order)),
            ("arm", static x => x.Arm.Name),
            (Table.Workers, static x => Numbers.Grouped(x.Arm.Workers)),
            ($"{result.Unit}/s", static x => Numbers.Rate(x.Round.Rate)),
            ("seconds", static x => FormattableString.Invariant($"{x.Round.Seconds:0.000}")),
            ("cores", static x => FormattableString.Invariant($"{x.Round.Cores:0.00}")),
            ("pool threads", static x => x.Round.PoolThreads is { } threads ? Numbers.Grouped(threads) : null),
            ("GC 0/1/2", static x => x.Round.Gen0 is null ? null : $"{x.Round.Gen0}/{x.Round.Gen1}/{x.Round.Gen2}"),
            ("canary",
                static x => x.Round.CanarySlowness is { } slow ? FormattableString.Invariant($"{slow:0.00}x +-{x.Round.CanaryVariation * 100:0} %") : null),
            ("state", static x => x.Round.Partial ? "partial" : x.Round.Problem ?? "ok"));
    }

    /// <summary>Jain's index of the workers' shares, 1 when all did the same; <see langword="null"/> without several workers.</summary>
    public static double? Jain(IReadOnlyList<long> perWorker) =>
        perWorker.Count > 1 ? Lab.Statistics.Fairness.Of([.. perWorker.Select(static n => (double)n)]).Jain : null;

    private static string? Fairness(ArmRecord arm) =>
        arm.Mean(static r => Jain(r.PerWorker)) is { } jain
            ? FormattableString.Invariant($"{jain:0.00} ({arm.Counted.Min(static r => r.PerWorker.DefaultIfEmpty().Min()):#,0}")
                + FormattableString.Invariant($"..{arm.Counted.Max(static r => r.PerWorker.DefaultIfEmpty().Max()):#,0})")
            : null;

    private static string PerOperation(ArmRecord arm) =>
        Numbers.Grouped(arm.Counted.Sum(static r => (double)(r.AllocatedBytes ?? 0)) / Math.Max(1, arm.Counted.Sum(static r => r.Operations)));

    // Of a worker's loop, for each operation.
    private static string? Overhead(ArmRecord arm) => arm.Mean(static r => r.OverheadNs) is { } overhead
        ? FormattableString.Invariant($"{overhead:0.0} ns/op {(arm.Counted.Any(static r => r.OverheadSubtracted) ? "subtracted" : "included")}")
        : null;

    private static string Seconds(double seconds) => Numbers.Nanoseconds(seconds * 1e9);

    private static string Range(Spread rate) => Range(rate.Min, rate.Max);

    private static string Range(double low, double high) => high < 10_000
        ? $"{Numbers.Rate(low)}..{Numbers.Rate(high)}"
        : Numbers.Scaled(low, high);

    private static string? Depth(double? average, double? max) =>
        average is { } a ? FormattableString.Invariant($"{a:0.0} / {max:0}") : null;

    private static string Estimate(FitRecord fit, Interval value) =>
        fit.Refused is not null ? Nothing : $"{Numbers.Short(value.Value)} [{Numbers.Short(value.Low)}..{Numbers.Short(value.High)}]";
}

/// <summary>The tables of profiles: the same in the terminal, in Markdown and on the page, where names may be longer.</summary>
internal static class ProfileTables
{
    private const int MostRows = 15;

    // With the figures beside it a line of 80 characters.
    private const int NameInText = 43;

    /// <summary>All of a result, with names that fit a terminal.</summary>
    public static IEnumerable<Table> All(ResultFile result) => result.Arms
        .Where(static a => a.Profile is { Samples: > 0 } or { Waiting: > 0 } or { Awaits.Count: > 0 } or { Allocations.Count: > 0 })
        .SelectMany(static a => Of(a, a.Profile!, NameInText));

    /// <summary>Those of one arm.</summary>
    public static IEnumerable<Table> Of(ArmRecord arm, ProfileRecord profile, int longest) =>
        new[] { Methods(arm, profile, longest), Waits(arm, profile, longest), Awaits(arm, profile, longest), Allocations(arm, profile, longest) }
            .OfType<Table>();

    /// <summary>The methods in which most samples ended; <see langword="null"/> without samples.</summary>
    public static Table? Methods(ArmRecord arm, ProfileRecord profile, int longest) => profile.Samples == 0 ? null : Table.Of(
        FormattableString.Invariant($"Hot methods: {arm.Label} ({profile.Samples:#,0} samples of work in {profile.Seconds:0.0} s)"),
        1,
        [.. profile.Methods().Take(MostRows)],
        ("method", m => Shortened(m.Name, longest)),
        ("exclusive", m => Share(m.Exclusive, profile.Samples)),
        ("inclusive", m => Share(m.Inclusive, profile.Samples)));

    /// <summary>Where threads of the work waited, and for what; <see langword="null"/> if none did.</summary>
    public static Table? Waits(ArmRecord arm, ProfileRecord profile, int longest) => profile.Waiting == 0 ? null : Table.Of(
        $"Waiting: {arm.Label} ({Share(profile.Waiting, profile.Waiting + profile.Samples)} of the time of its threads)",
        1,
        [.. WaitSite.Of(profile.Waits).Take(MostRows)],
        ("method", w => Shortened(w.Method, longest - 16)),
        ("waits for", static w => w.For),
        ("share", w => Share(w.Samples, profile.Waiting)));

    /// <summary>What asynchronous methods awaited, and whom that held; <see langword="null"/> if none awaited anything that is known.</summary>
    public static Table? Awaits(ArmRecord arm, ProfileRecord profile, int longest) => profile.Awaits.Count == 0 ? null : Table.Of(
        $"Awaiting: {arm.Label} (what the innermost asynchronous method awaits, and which methods await that one)",
        3,
        [.. profile.Awaits.Take(MostRows).Select(static a => (Path: a.Frames.Split(ProfileStack.Separator), Await: a))],
        ("method", x => Shortened(x.Path[^2], longest - 16)),
        ("awaits", static x => x.Path[^1]),
        ("holds", x => x.Path.Length == 2 ? "-" : Shortened(string.Join(" > ", x.Path[..^2].Select(static m => m[(m.LastIndexOf('.') + 1)..])), longest - 16)),
        ("share", x => Share(x.Await.Seconds, profile.Awaits.Sum(static a => a.Seconds))),
        ("mean", static x => Numbers.Nanoseconds(x.Await.Seconds / x.Await.Times * 1e9)));

    /// <summary>The types of which most was allocated; <see langword="null"/> when no sample met any.</summary>
    public static Table? Allocations(ArmRecord arm, ProfileRecord profile, int longest) => profile.Allocations.Count == 0 ? null : Table.Of(
        $"Allocations: {arm.Label} (sampled, one in about 100 KB)",
        1,
        [.. profile.Allocations.Take(MostRows)],
        ("type", a => Shortened(a.Type, longest)),
        ("share", a => Share(a.Bytes, profile.Allocations.Sum(static x => (double)x.Bytes))),
        ("about", static a => Numbers.Bytes(a.Bytes)),
        ("samples", static a => Numbers.Grouped(a.Ticks)));

    /// <summary>A name with its end, which tells more than its beginning.</summary>
    internal static string Shortened(string name, int longest) => name.Length <= longest ? name : "…" + name[^(longest - 1)..];

    /// <summary>A share of all as a text.</summary>
    internal static string Share(double part, double all) => FormattableString.Invariant($"{part / all * 100:0.0} %");
}

/// <summary>A site at which threads of the work waited: a method, and what it waited for.</summary>
/// <param name="Method">The method that waited: the innermost that is not a part of the waiting itself.</param>
/// <param name="For">What it waited for, in words.</param>
/// <param name="Samples">In how many samples.</param>
internal sealed record WaitSite(string Method, string For, int Samples)
{
    private static readonly (string Frame, string For)[] Causes =
    [
        ("System.Collections.Concurrent.BlockingCollection", "a blocking collection"),
        ("System.Threading.Tasks.Task.", "a task: blocks its thread"),
        ("System.Threading.Tasks.Task`1", "a task: blocks its thread"),
        ("System.Threading.ReaderWriterLock", "a reader-writer lock"),
        ("System.Threading.SemaphoreSlim.", "a semaphore"),
        ("System.Threading.Barrier.", "a barrier"),
        ("System.Threading.CountdownEvent.", "a countdown"),
        ("System.Threading.ManualResetEventSlim.", "an event or a pulse"),
        ("System.Threading.Monitor.Wait", "an event or a pulse"),
        ("System.Threading.Monitor.", "a lock"),
        ("System.Threading.Lock.", "a lock"),
        ("System.Threading.SpinLock.", "a lock"),
        ("System.Threading.Thread.Join", "a thread"),
        ("System.Threading.Thread.Sleep", "a sleep"),
        ("System.Threading.SpinWait.", "a condition it spins for"),
        ("System.Threading.WaitHandle.", "a wait handle"),
        ("Interop", "a call of the system"),
    ];

    /// <summary>The sites, first that with most samples.</summary>
    public static IReadOnlyList<WaitSite> Of(IReadOnlyList<ProfileStack> waits) =>
    [
        .. waits.Select(static w => (Site: SiteOf(w.Path), w.Samples)).GroupBy(static w => w.Site)
            .Select(static g => new WaitSite(g.Key.Method, g.Key.For, g.Sum(static w => w.Samples)))
            .OrderByDescending(static w => w.Samples).ThenBy(static w => w.Method, StringComparer.Ordinal),
    ];

    // The first cause that any frame below the waiting method names: a task waits by an event, which waits by a monitor.
    private static (string Method, string For) SiteOf(IReadOnlyList<string> path)
    {
        int own = path.Count - 1;
        while (own > 0 && IsOfTheWaiting(path[own]))
        {
            own--;
        }

        string[] inner = [.. path.Skip(own + 1)];
        (string? frame, string words) = Array.Find(Causes, c => Array.Exists(inner, f => f.StartsWith(c.Frame, StringComparison.Ordinal)));
        return (path[own], frame is null ? "a native call" : words);
    }

    private static bool IsOfTheWaiting(string frame) => frame.StartsWith("System.", StringComparison.Ordinal)
        || frame.StartsWith("Interop", StringComparison.Ordinal) || frame.StartsWith("Microsoft.Win32.", StringComparison.Ordinal);
}

/// <summary>The tables of a history: the same in the terminal and on the page.</summary>
internal static class HistoryTables
{
    /// <summary>Where each arm stands.</summary>
    public static Table Arms(IReadOnlyList<HistorySeries> series) => Table.Of(
        $"Arms on {series[0].Machine} ({series[0].MachineText})",
        1,
        series,
        ("arm", static s => s.Name),
        ("results", static s => Numbers.Grouped(s.Points.Count)),
        ("commits", static s => Numbers.Grouped(s.Points.Select(static p => p.Name).Distinct().Count())),
        ("last", static s => s.Points[^1].Name),
        ("figure", static s => s.Text(s.Points[^1].Value) + (s.Figure == ComparedFigure.Rate ? "/s" : "")),
        ("since the first", static s => FormattableString.Invariant($"{ArmBytes.RatioOf(s.Points[^1].Value - s.Points[0].Value, s.Points[0].Value):0.000}x")),
        ("changes", static s => Numbers.Grouped(s.Changes.Count)));

    /// <summary>Where arms changed; <see langword="null"/> when none did.</summary>
    public static Table? Changes(IReadOnlyList<HistorySeries> series)
    {
        (HistorySeries Series, HistoryChange Change)[] changes = [.. series.SelectMany(static s => s.Changes, static (s, c) => (s, c))];
        return changes.Length == 0 ? null : Table.Of(
            $"Changes on {series[0].Machine}",
            2,
            changes,
            ("arm", static x => x.Series.Name),
            ("since", static x => x.Change.Commit),
            ("before", static x => x.Change.Before),
            ("ratio", static x => FormattableString.Invariant($"{x.Change.Ratio:0.000}")),
            ("interval",
                static x => x.Change.Low == x.Change.High ? "exact"
                    : double.IsFinite(x.Change.High) ? FormattableString.Invariant($"{x.Change.Low:0.000}..{x.Change.High:0.000}")
                    : "too few results"),
            ("p", static x => Numbers.Short(x.Change.P)),
            ("verdict", static x => VerdictWords.Of(x.Change.Verdict)));
    }

    /// <summary>What a history comes to, in a sentence.</summary>
    public static string Answer(IReadOnlyList<HistorySeries> series)
    {
        string[] changes = [.. series.SelectMany(static s => s.Changes, Sentence)];
        int commits = series.SelectMany(static s => s.Points).Select(static p => p.Name).Distinct().Count();
        return changes.Length switch
        {
            0 => $"No change was found over {Numbers.Counted(commits, "commit")}: {string.Join(", ", series.Select(static s => s.Name).Distinct().Take(3))}"
                + (series.Count > 3 ? $" and {Numbers.Grouped(series.Count - 3)} more." : "."),
            1 => changes[0],
            _ => $"{Numbers.Grouped(changes.Length)} changes were found. The first: {changes[0]}",
        };
    }

    public static string Sentence(HistorySeries series, HistoryChange change) =>
        $"{series.Name} {(series.Figure == ComparedFigure.Bytes ? "are" : "is")} {VerdictWords.Of(change.Verdict)}"
        + (change.Verdict == Statistics.Verdict.Equivalent ? " within the margin, though not the same," : "")
        + FormattableString.Invariant($" from {change.Commit} on: {change.Ratio:0.000}x, p = {Numbers.Short(change.P)}; ")
        + $"measured last before it: {change.Before}.";
}
