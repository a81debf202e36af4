namespace Weir;

/// <summary>
/// The progress of a run. The counts are read one after the other while workers continue, so they can differ by what ended in between. Those of the final
/// report are exact.
/// </summary>
public sealed record ProgressSnapshot
{
    /// <summary>The <see cref="ParallelRunOptions.OperationName"/> of the run; <see langword="null"/> if it has none.</summary>
    public string? OperationName { get; init; }

    /// <summary>Items whose call has started, including those that have ended or wait for another attempt.</summary>
    public required long Started { get; init; }

    /// <summary>Items that have ended with a result.</summary>
    public required long Succeeded { get; init; }

    /// <summary>Items that failed or timed out, but not those cancelled because the run stopped.</summary>
    public required long Failed { get; init; }

    /// <summary>The number of items, or of batches for batch operators; <see langword="null"/> if it is not known before the end.</summary>
    public required int? TotalItems { get; init; }

    /// <summary>The time since the start of the run.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>Whether this is the last report of the run.</summary>
    public required bool IsFinal { get; init; }

    /// <summary>Items that have ended with a result, per second since the start.</summary>
    public double ItemsPerSecond => Elapsed > TimeSpan.Zero ? Succeeded / Elapsed.TotalSeconds : 0;

    /// <summary>Items that have ended, with or without a result, in percent of <see cref="TotalItems"/>.</summary>
    /// <value>From 0 to 100; <see langword="null"/> if the total is not known.</value>
    public double? PercentComplete => TotalItems switch
    {
        null => null,
        0 => 100,
        { } total => Math.Min(100, 100.0 * Ended / total),
    };

    /// <summary>The estimated time for the remaining items, at the average pace so far.</summary>
    /// <value><see langword="null"/> if the total is not known, or no item has ended yet.</value>
    public TimeSpan? EstimatedTimeRemaining =>
        TotalItems is { } total && (Ended > 0 || total == 0) ? Times(Elapsed, Math.Max(0, total - Ended) / (double)Math.Max(1, Ended)) : null;

    private long Ended => Succeeded + Failed;

    // At most the longest time that there is: a run that was paused for a day after the first of twenty million items would need longer.
    private static TimeSpan Times(TimeSpan elapsed, double factor) =>
        elapsed.Ticks * factor < long.MaxValue ? elapsed * factor : TimeSpan.MaxValue;
}
