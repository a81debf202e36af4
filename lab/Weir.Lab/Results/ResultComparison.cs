namespace Weir.Lab.Results;

/// <summary>Compares two results that were measured one after the other: each arm with the arm of the same name and workers. Thread-safe.</summary>
public static class ResultComparison
{
    // What --across calls the machine and its environment.
    private const string Machine = "machine";

    /// <summary>Compares.</summary>
    /// <param name="before">The one that is compared with, and what it is called in the arms of the result.</param>
    /// <param name="after">The one that is compared, and what it is called.</param>
    /// <param name="options">What counts as a difference; <see langword="null"/> for 3 % and a level of 1 %.</param>
    /// <param name="across">
    /// The settings that may differ between the two, by name, and <c>machine</c> for two machines; <see langword="null"/> for none.
    /// </param>
    /// <returns>
    /// A result with the arms of both, in pairs, and comparisons of each pair. Its findings say that the two were not measured in turns. Rates and latencies
    /// get a verdict only from at least five processes on each side, on a machine that was quiet and as fast both times; the note says what is missing.
    /// </returns>
    /// <exception cref="ArgumentOutOfRangeException">An option is outside its range.</exception>
    /// <exception cref="IncomparableResultsException">They have nothing in common, or differ in a setting that is not in <paramref name="across"/>.</exception>
    public static ResultFile Of(
        (string Name, ResultFile Result) before, (string Name, ResultFile Result) after, ComparisonOptions? options = null,
        IReadOnlyList<string>? across = null)
    {
        ArgumentNullException.ThrowIfNull(before.Result, nameof(before));
        ArgumentNullException.ThrowIfNull(after.Result, nameof(after));
        options ??= new ComparisonOptions();
        options.Validate();
        (ArmRecord Before, ArmRecord After)[] pairs =
        [
            .. from b in before.Result.Arms
               join a in after.Result.Arms on (b.Name, b.Workers) equals (a.Name, a.Workers)
               where a.IsMeasured && b.IsMeasured
               select (b, a),
        ];

        // A single arm on each side is meant to be compared, whatever it is called.
        if (pairs.Length == 0 && before.Result.Arms.Count == 1 && after.Result.Arms.Count == 1 && before.Result.Arms[0].IsMeasured
            && after.Result.Arms[0].IsMeasured)
        {
            pairs = [(before.Result.Arms[0], after.Result.Arms[0])];
        }

        if (pairs.Length == 0)
        {
            throw new IncomparableResultsException(
                $"'{before.Name}' and '{after.Name}' have no arm in common; the name and the workers of an arm must be the same in both.");
        }

        List<Finding> findings =
        [
            .. new[] { before, after }.SelectMany(
                static side => side.Result.Findings.Where(static f => f.Level != FindingLevel.Note),
                static (side, f) => f with { Text = $"{side.Name}: {f.Text}" }),
        ];
        if (before.Result.Machine.Hash != after.Result.Machine.Hash)
        {
            findings.Add(new Finding(FindingLevel.Doubt, $"The two were measured in different environments ({before.Result.Machine.Hash} and "
                + $"{after.Result.Machine.Hash}): the difference may be the machine's.", FindingKind.Difference));
        }

        string[] different =
        [
            .. pairs.SelectMany(p => SettingDifferences.Check((before.Name, before.Result, p.Before), (after.Name, after.Result, p.After), across ?? []))
                .Distinct(),
        ];
        if (different.Length > 0)
        {
            findings.Add(new Finding(FindingLevel.Note, $"The two differ in {string.Join(", ", different)}, as --across allows.", FindingKind.Difference));
        }

        findings.Add(new Finding(FindingLevel.Doubt,
            "The two were measured one after the other, not in turns; the difference includes changes of the machine in between.", FindingKind.Difference));
        findings.AddRange(InOneOnly(before.Name, before.Result, pairs.Select(static p => p.Before)));
        findings.AddRange(InOneOnly(after.Name, after.Result, pairs.Select(static p => p.After)));
        IReadOnlyList<ComparisonRecord> comparisons = new StoredComparing(before, after, options, across?.Contains(Machine) == true).All(
            pairs, p => ($"{before.Name}: {p.Before.Label}", $"{after.Name}: {p.After.Label}"));
        findings.AddRange(WithoutWord(options, pairs, p => $"{after.Name}: {p.Label}", comparisons));
        ArmRecord[] labelled = [.. pairs.SelectMany(
            p => new[] { p.Before with { Name = $"{before.Name}: {p.Before.Name}" }, p.After with { Name = $"{after.Name}: {p.After.Name}" } })];
        return after.Result with
        {
            Command = "compare",
            Arguments = [],
            Partial = before.Result.Partial || after.Result.Partial,
            Arms = [.. Reordered(labelled)],
            Fits = [],
            Findings = findings,
            Comparisons = comparisons,
        };
    }

    // A benchmark that failed has no result on its side, and would go missing without a word.
    private static IEnumerable<Finding> InOneOnly(string name, ResultFile result, IEnumerable<ArmRecord> compared)
    {
        string[] others = [.. result.Arms.Where(static a => a.IsMeasured).Except(compared).Select(static a => a.Label)];
        return others.Length == 0
            ? []
            : [new Finding(FindingLevel.Doubt, $"Not compared, because only {name} has a result: {string.Join(", ", others)}.", FindingKind.Difference)];
    }

    // A percentile that was asked for and is not there would look like one without a difference.
    private static IEnumerable<Finding> WithoutWord(
        ComparisonOptions options, (ArmRecord Before, ArmRecord After)[] pairs, Func<ArmRecord, string> label, IReadOnlyList<ComparisonRecord> compared) =>
        from figure in options.Figures
        where figure is not (ComparedFigure.Rate or ComparedFigure.Bytes)
        from pair in pairs
        where !compared.Any(c => c.Figure == figure && c.Arm == label(pair.After))
        select new Finding(FindingLevel.Doubt, $"{FigureWords.Of(figure)} of {label(pair.After)} was not compared: it needs processes with enough latencies "
            + "on both sides.", FindingKind.Difference);

    // The rounds of the two follow each other, as they were measured.
    private static IEnumerable<ArmRecord> Reordered(ArmRecord[] arms)
    {
        int last = arms.Where(static (_, i) => i % 2 == 0).SelectMany(static a => a.Rounds).Max(static r => r.Order);
        return arms.Select((arm, i) => i % 2 == 0 ? arm : arm with { Rounds = [.. arm.Rounds.Select(r => r with { Order = r.Order + last })] });
    }
}

/// <summary>
/// Compares arms that were not measured in turns. Everything that happened to the machine in between is part of the difference, so there is a verdict on rates
/// and latencies only from several processes on each side, on a machine that was quiet and as fast both times. Bytes need none of this.
/// </summary>
/// <param name="before">The result that is compared with, and its name.</param>
/// <param name="after">The result that is compared, and its name.</param>
/// <param name="options">Margin, level and figures.</param>
/// <param name="acrossMachines">Whether the two may be of different machines.</param>
internal sealed class StoredComparing((string Name, ResultFile Result) before, (string Name, ResultFile Result) after, ComparisonOptions options,
    bool acrossMachines)
{
    /// <summary>With fewer processes on a side there is no verdict on rates and latencies.</summary>
    public const int LeastProcesses = 5;

    private const string InTurns = "or measure the two in turns: weir compare with both builds or workloads";

    // The same of both: what differs between two measurings of it is no difference of the work.
    private readonly double _clock = Math.Max(before.Result.Machine.ClockNs, after.Result.Machine.ClockNs);

    /// <summary>Compares pairs of arms.</summary>
    /// <param name="pairs">The arms of the two results.</param>
    /// <param name="labels">The labels of the two in the comparisons.</param>
    public IReadOnlyList<ComparisonRecord> All(
        IReadOnlyList<(ArmRecord Before, ArmRecord After)> pairs, Func<(ArmRecord Before, ArmRecord After), (string Before, string After)> labels)
    {
        ComparisonOptions each = options.OfEach();
        ComparisonRecord[] all = [.. pairs.SelectMany(p => options.Figures.Select(f => Of(p, labels(p), f, each)).OfType<ComparisonRecord>())];
        double[] adjusted = Holm.Adjust([.. all.Select(static c => c.P)]);
        return [.. all.Select((c, i) => c.Figure == ComparedFigure.Bytes ? c : Judged(c with { P = adjusted[i] }, each))];
    }

    private ComparisonRecord? Of(
        (ArmRecord Before, ArmRecord After) pair, (string Before, string After) labels, ComparedFigure figure, ComparisonOptions each)
    {
        (ArmProcesses x, ArmProcesses y) = (new ArmProcesses(before.Result, pair.Before), new ArmProcesses(after.Result, pair.After));
        string? obstacle = Obstacle(x, y);
        ComparisonRecord record = new()
        {
            Arm = labels.After,
            Against = labels.Before,
            Figure = figure,
            Ratio = 1,
            Low = 0,
            High = double.PositiveInfinity,
            P = 1,
            Margin = options.Margin,
            Alpha = each.Alpha,
            Processes = Math.Min(x.Count, y.Count),
            Verdict = Verdict.Inconclusive,
            Note = obstacle,
        };
        if (figure == ComparedFigure.Bytes)
        {
            return Comparing.Bytes(pair.After, pair.Before, record, each) is not { } bytes ? null
                : bytes is { Interval: "exact" } or { Verdict: Verdict.Inconclusive } || obstacle is null ? bytes with { Note = null, Processes = null }
                : bytes with { Verdict = Verdict.Inconclusive };
        }

        bool isRate = figure == ComparedFigure.Rate;
        LatencyReading reading = LatencyReading.Of(figure, _clock, pair.Before, pair.After);
        double[] baseline = isRate ? x.Rates() : x.Latencies(reading);
        double[] candidate = isRate ? y.Rates() : y.Latencies(reading);
        if (baseline.Length == 0 || candidate.Length == 0)
        {
            // Nothing to show, but a rate that was measured by nobody undisturbed is said.
            return isRate ? record with { Ratio = pair.After.Rate().Median / pair.Before.Rate().Median } : null;
        }

        (double was, double now) = (Spread.Of(baseline).Median, Spread.Of(candidate).Median);
        double step = isRate ? 0 : reading.StepOfRatio(was, now);
        Welch test = Welch.Of([.. baseline.Select(static v => Math.Log(v))], [.. candidate.Select(static v => Math.Log(v))], each.Level, step);
        return record with
        {
            Ratio = Math.Exp(test.Difference),
            Low = Math.Exp(test.Difference - test.Half),
            High = Math.Exp(test.Difference + test.Half),
            P = test.P,
            Value = isRate ? null : now,
            AgainstValue = isRate ? null : was,
        };
    }

    private static ComparisonRecord Judged(ComparisonRecord record, ComparisonOptions each) => record.Note is not null ? record
        : record with { Verdict = Comparing.Decide(record, each) };

    private string? Obstacle(ArmProcesses x, ArmProcesses y)
    {
        (string Name, ResultFile Result)? disturbed = x.IsDisturbed ? before : y.IsDisturbed ? after : null;
        return disturbed is { Result.Command: BenchmarkDotNetReport.Command } report
            ? $"{report.Name} does not say what else ran on the machine: only its bytes are compared, {InTurns}"
            : disturbed is { } side ? $"other programs were running when {side.Name} was measured: measure it again on a quiet machine, {InTurns}"
            : before.Result.Machine.Hash != after.Result.Machine.Hash && !acrossMachines
                ? "the two are of different machines or environments: --across machine compares them all the same"
            : Math.Min(x.Count, y.Count) < LeastProcesses
                ? $"{(x.Count < y.Count ? before.Name : after.Name)} has only {Math.Min(x.Count, y.Count)} of at least {LeastProcesses} processes that "
                    + $"count: measure it again with --processes 8, {InTurns}"
            : !acrossMachines && x.Speed is { } was && y.Speed is { } now && Math.Abs(Math.Log(now / was)) > Math.Log(1 + (options.Margin / 2))
                ? FormattableString.Invariant($"the processor itself was {Math.Abs((now / was) - 1) * 100:0.0} % ")
                    + $"{(now > was ? "faster" : "slower")} when {after.Name} was measured: measure both again, {InTurns}"
            : null;
    }
}

/// <summary>Which settings two results differ in. Such results do not compare, unless the setting is what one wants to compare.</summary>
internal static class SettingDifferences
{
    // They say how often, how long and where it was measured, and which arms took part, not what: an arm's own size is its workers.
    private static readonly HashSet<string> OfTheMeasuring =
    [
        "rounds", "trials", "warmup", "duration", "isolate", "seed", "input", "knobs", "runtime", "sweep", "cdc_parallel_size", "cdc_concurrency",
        "peer_degree",
    ];

    /// <summary>Throws if there is a difference that is not allowed.</summary>
    /// <param name="before">Name, result and arm of one.</param>
    /// <param name="after">Name, result and arm of the other.</param>
    /// <param name="across">The settings that may differ.</param>
    /// <returns>The settings that do differ, as parts of a sentence.</returns>
    /// <exception cref="IncomparableResultsException">There is one.</exception>
    public static IReadOnlyList<string> Check(
        (string Name, ResultFile Result, ArmRecord Arm) before, (string Name, ResultFile Result, ArmRecord Arm) after, IReadOnlyList<string> across)
    {
        Dictionary<string, string> left = Of(before.Result, before.Arm);
        Dictionary<string, string> right = Of(after.Result, after.Arm);
        (string Parameter, string Text)[] different =
        [
            .. left.Keys.Union(right.Keys).Order(StringComparer.Ordinal)
                .Select(name => (name, Left: left.GetValueOrDefault(name, "absent"), Right: right.GetValueOrDefault(name, "absent")))
                .Where(static k => k.Left != k.Right)
                .Select(static k => (k.name, $"{k.name} ({k.Left} and {k.Right})")),
        ];
        string[] unasked = [.. different.Where(d => !across.Contains(d.Parameter)).Select(static d => d.Parameter)];
        return unasked.Length == 0
            ? [.. different.Select(static d => d.Text)]
            : throw new IncomparableResultsException(
                $"'{before.Name}' and '{after.Name}' differ in {string.Join(", ", different.Select(static d => d.Text))}.", unasked);
    }

    /// <summary>The settings of an arm that say what was measured, in one text.</summary>
    public static string Text(ResultFile result, ArmRecord arm) =>
        string.Join(", ", Of(result, arm).OrderBy(static s => s.Key, StringComparer.Ordinal).Select(static s => $"{s.Key}={s.Value}"));

    private static Dictionary<string, string> Of(ResultFile result, ArmRecord arm)
    {
        Dictionary<string, string> parameters = new(arm.Settings);
        foreach ((string name, string value) in result.Settings)
        {
            parameters.TryAdd(name, value);
        }

        foreach (string name in OfTheMeasuring)
        {
            parameters.Remove(name);
        }

        return parameters;
    }
}

/// <summary>Two results do not compare. The message is one sentence that says why.</summary>
/// <param name="message">Why they do not.</param>
/// <param name="settings">The settings that they differ in, if it is that.</param>
public sealed class IncomparableResultsException(string message, IReadOnlyList<string>? settings = null) : InvalidOperationException(message)
{
    /// <summary>The settings that differ without being allowed to; empty if the results are not comparable for another reason.</summary>
    public IReadOnlyList<string> Settings { get; } = settings ?? [];
}
