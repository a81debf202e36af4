namespace Weir.Lab.Workers;

/// <summary>What one window found, before it becomes a round of a report.</summary>
internal sealed record WindowOutcome
{
    public required long Begin { get; init; }

    public required long End { get; init; }

    public required double Seconds { get; init; }

    public required IReadOnlyList<WorkerSlot> Slots { get; init; }

    public required bool IsPaced { get; init; }

    /// <summary>Whether it is of whole operations, instead of what fits into a time.</summary>
    public required bool IsWhole { get; init; }

    public LatencyHistogram? Service { get; init; }

    public LatencyHistogram? Response { get; init; }

    /// <summary>Of what takes turns, how long whole batches took; <see langword="null"/> where latency was not measured, or of each operation.</summary>
    public LatencyHistogram? BatchTimes { get; init; }

    public required InFlightDepth InFlight { get; init; }

    public PacingResult? Pacing { get; init; }

    public required ResourceUse Resources { get; init; }

    /// <summary>
    /// How many processors were busy on average while the resources were counted, which for a counted window is a little more than the window.
    /// </summary>
    public required double Cores { get; init; }

    /// <summary>What was used from before the first operation until after the last, in the window or not; the allocations are exact.</summary>
    public required ResourceUse Whole { get; init; }

    /// <summary>
    /// Bytes that were allocated from before the first operation until after the last, exactly, without those of the window's own thread, of the pacer, and
    /// of waiting for its starts. What the workers need to be there is in it: <see cref="IdleWindow"/> says how much that is.
    /// </summary>
    public long Bytes { get; init; }

    /// <summary>What a worker read itself that was alone in a window of whole operations: then the resources and the bytes are from there.</summary>
    public SoloUse? Solo { get; init; }

    /// <summary>What the first operation threw that failed.</summary>
    public Exception? FirstError => Slots.Select(static s => s.FirstError).FirstOrDefault(static e => e is not null);

    /// <summary>The groups whose operations are awaited.</summary>
    public IReadOnlySet<string> AsyncGroups { get; init; } = new HashSet<string>();

    /// <summary>The operation of the first worker.</summary>
    public Operation? First { get; init; }

    public required IReadOnlyList<TimelinePoint> Timeline { get; init; }

    public required IReadOnlyList<string> Troubles { get; init; }

    public required bool IsPartial { get; init; }

    /// <summary>Whether a worker stood still: it would do so in the next window too.</summary>
    public bool IsStuck { get; init; }

    public long Executed => Slots.Sum(static s => s.Tally.Executed);

    public long Operations => Slots.Sum(static s => s.Tally.Operations);

    public long Failures => Slots.Sum(static s => s.Tally.Failures);

    /// <summary>The failures by the type of what was thrown, the most frequent first.</summary>
    public Dictionary<string, long> FailureKinds() => Slots.SelectMany(static s => s.FailureKinds ?? []).GroupBy(static k => k.Key, static k => k.Value)
        .OrderByDescending(static g => g.Sum()).ThenBy(static g => g.Key, StringComparer.Ordinal).ToDictionary(static g => g.Key, static g => g.Sum());

    public double Rate => Groups().Sum(static g => g.Rate);

    /// <summary>How many operations of each group are to go between two looks at the clock in the next window.</summary>
    public Dictionary<string, int> NextBatches()
    {
        double? median = Service is { Count: > 0 } latencies ? latencies.ValueAtPercentile(50) : null;
        return Groups().ToDictionary(static g => g.Name, g => WorkerRunner.BatchOf(g, median));
    }

    public RoundTotals Totals() => new(
        Slots.GroupBy(static s => s.Context.Group).ToDictionary(static g => g.Key, static g => g.Sum(static s => s.Tally.Executed)), Failures);

    public List<WorkerCount> Workers() => [.. Slots.Select(Count)];

    public List<GroupResult> Groups() =>
    [
        .. Slots.GroupBy(static s => s.Context.Group).Select(group =>
        {
            WorkerCount[] workers = [.. group.Select(Count)];
            return new GroupResult(
                group.Key,
                workers.Length,
                workers.Sum(static w => w.Operations),
                IsWhole ? workers.Sum(static w => w.Operations) / Seconds : workers.Sum(static w => w.Rate),
                group.First().Batch,
                Fairness.Of([.. workers.Select(static w => w.Rate)], workers.Max(static w => w.LongestGap)))
            {
                Quickest = group.Where(static s => s.Tally.ShortestGap > 0)
                    .Select(static s => (double)Clock.Nanoseconds(0, s.Tally.ShortestGap) / s.Batch).DefaultIfEmpty().Min(),
            };
        }),
    ];

    private WorkerCount Count(WorkerSlot slot)
    {
        ref readonly WorkerTally tally = ref slot.Tally;
        double seconds = IsPaced ? PacedSeconds()
            : IsWhole && tally.LastEnd > tally.Start ? Clock.Nanoseconds(tally.Start, tally.LastEnd) / 1e9
            : Seconds;
        return new WorkerCount(
            slot.Context.Group,
            slot.Context.Worker,
            tally.Operations,
            seconds,
            TimeSpan.FromTicks(Clock.Nanoseconds(0, tally.LongestGap) / TimeSpan.NanosecondsPerTick))
        {
            // With a rate or a number of operations it is given which ones count; otherwise the window cuts through some.
            Work = IsPaced || IsWhole ? tally.Operations : WindowWork.Of(tally, slot.Batch, Begin, End),
        };
    }

    // Operations of the window may end after it, when the rate is more than can be done: then that time counts too.
    private double PacedSeconds() => Math.Max(
        Seconds, Slots.Max(static s => s.Tally.LastEnd) is > 0 and long last ? Clock.Nanoseconds(Begin, last) / 1e9 : 0);
}
