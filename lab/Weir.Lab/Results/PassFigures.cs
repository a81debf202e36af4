namespace Weir.Lab.Results;

/// <summary>
/// What the rounds of an arm come to whose operations are items of passes: for a pass, and for an item. It is made of the rounds whenever it is asked for, and
/// never read.
/// </summary>
public sealed record PassFigures
{
    /// <summary>The setting with the name of an arm that is a runtime; an arm without it is a peer.</summary>
    internal const string Runtime = "runtime";

    /// <summary>The plain loop, to which ratios are taken.</summary>
    internal const string Loop = "loop";

    /// <summary>The platform's own way, to which ratios are taken.</summary>
    internal const string ForEachAsync = "Parallel.ForEachAsync";

    private const string Direct = "direct";
    private const double Million = 1_000_000;

    /// <summary>Items of a pass; those that were done, if no pass was completed.</summary>
    public required long Processed { get; init; }

    /// <summary>How long a pass takes at the median of the rates, in seconds.</summary>
    public required double ElapsedSeconds { get; init; }

    /// <summary>The median of the rates.</summary>
    public required double ThroughputPerSecond { get; init; }

    /// <summary>The lowest rate.</summary>
    public required double ThroughputMin { get; init; }

    /// <summary>The highest rate.</summary>
    public required double ThroughputMax { get; init; }

    /// <summary>Collections of any generation during a pass. Not a whole number when a round has several passes.</summary>
    public required double GcCount { get; init; }

    /// <summary>Items of a pass that failed.</summary>
    public required long Failed { get; init; }

    /// <summary>Items of a pass that ran out of time.</summary>
    public required long TimedOut { get; init; }

    /// <summary>The verified checksum; <see langword="null"/> when no pass was completed.</summary>
    public string? Checksum { get; init; }

    /// <summary>Elapsed time for an item at the median of the rates, in nanoseconds.</summary>
    public required double NsPerItem { get; init; }

    /// <summary>The same beyond an item of the direct runtime; <see langword="null"/> without that runtime.</summary>
    public double? NsAboveDirect { get; init; }

    /// <summary>Bytes that the process allocated for an item.</summary>
    public required double BytesPerItem { get; init; }

    /// <summary>Processor time of the process for a million items, in seconds.</summary>
    public required double CpuSecondsPerMillion { get; init; }

    /// <summary>Collections of each generation for a million items, the youngest first.</summary>
    public required IReadOnlyList<double> GcPerMillion { get; init; }

    /// <summary>How many times as fast as the plain loop; <see langword="null"/> without it.</summary>
    public double? RatioToLoop { get; init; }

    /// <summary>How many times as fast as <c>Parallel.ForEachAsync</c>; <see langword="null"/> without it.</summary>
    public double? RatioToPlatform { get; init; }

    /// <summary>The figures of an arm.</summary>
    /// <param name="whole">The arm.</param>
    /// <param name="arms">All arms of the result.</param>
    /// <returns>The figures; <see langword="null"/> if the arm has no passes, or was stopped before the first.</returns>
    internal static PassFigures? Of(ArmRecord whole, IReadOnlyList<ArmRecord> arms)
    {
        ArmRecord arm = whole.OrPart();
        if (!arm.IsMeasured || !whole.HasPasses)
        {
            return null;
        }

        IReadOnlyList<RoundRecord> rounds = arm.Counted;
        double items = Math.Max(1, rounds.Sum(static r => r.Operations));
        long passes = rounds.Sum(static r => r.Passes ?? 0);

        // A round that was cut short counts only if there is no complete one, and then with the work that it did.
        double processed = whole.IsMeasured ? Math.Round(items / Math.Max(1, passes)) : items;
        double Sum(Func<RoundRecord, double?> figure) => rounds.Sum(r => figure(r) ?? 0);
        double OfPass(Func<RoundRecord, double?> figure) => Sum(figure) * processed / items;
        double? Paired(string name, Func<RoundRecord, RoundRecord, double> compare) =>
            arms.FirstOrDefault(a => a.Name == name)?.OrPart() is { IsMeasured: true } to ? Spread.Of(rounds.Zip(to.Counted, compare)).Median : null;
        Spread rate = arm.Rate();
        return new PassFigures
        {
            Processed = (long)processed,
            ElapsedSeconds = processed / rate.Median,
            ThroughputPerSecond = rate.Median,
            ThroughputMin = rate.Min,
            ThroughputMax = rate.Max,
            GcCount = OfPass(static r => (r.Gen0 ?? 0) + (r.Gen1 ?? 0) + (r.Gen2 ?? 0)),
            Failed = (long)Math.Round(OfPass(static r => r.Failures - (r.TimedOut ?? 0))),
            TimedOut = (long)Math.Round(OfPass(static r => r.TimedOut)),
            Checksum = rounds.Select(static r => r.Checksum).FirstOrDefault(static c => c is not null),
            NsPerItem = 1e9 / rate.Median,
            NsAboveDirect = arms.FirstOrDefault(static a => a.Name == Direct)?.OrPart() is { IsMeasured: true } direct
                ? (1e9 / rate.Median) - (1e9 / direct.Rate().Median)
                : null,
            BytesPerItem = Sum(static r => r.AllocatedBytes) / items,
            CpuSecondsPerMillion = Sum(static r => r.CpuUserSeconds + r.CpuSystemSeconds) * Million / items,
            GcPerMillion = [Sum(static r => r.Gen0) * Million / items, Sum(static r => r.Gen1) * Million / items, Sum(static r => r.Gen2) * Million / items],
            RatioToLoop = Paired(Loop, static (mine, theirs) => mine.Rate / theirs.Rate),
            RatioToPlatform = Paired(ForEachAsync, static (mine, theirs) => mine.Rate / theirs.Rate),
        };
    }
}
