namespace Weir;

/// <summary>How far a run is. The counts are taken one after the other while workers go on, so they may differ by what ended in between; those of the final report are exact.</summary>
public sealed record ProgressSnapshot
{
    /// <summary>Items whose call has begun, also those that have ended or wait for another attempt.</summary>
    public required long ItemsStarted { get; init; }

    /// <summary>Items that have ended with a result.</summary>
    public required long ItemsCompleted { get; init; }

    /// <summary>Items that have failed or ran out of time. Those that were cancelled because the run was stopped are none.</summary>
    public required long ErrorCount { get; init; }

    /// <summary>How many items there are; batches, for operators of batches. <see langword="null"/> when nobody knows before the end.</summary>
    public required int? TotalItems { get; init; }

    /// <summary>The time since the start of the run.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>Whether this is the last report of the run.</summary>
    public required bool IsFinal { get; init; }

    /// <summary>Items that have ended with a result, per second since the start.</summary>
    public double ItemsPerSecond => Elapsed > TimeSpan.Zero ? ItemsCompleted / Elapsed.TotalSeconds : 0;

    /// <summary>Items that have ended, whether with a result or without, in percent of <see cref="TotalItems"/>.</summary>
    /// <value>From 0 to 100; <see langword="null"/> when the total is not known.</value>
    public double? PercentComplete => TotalItems switch
    {
        null => null,
        0 => 100,
        { } total => Math.Min(100, 100.0 * Ended / total),
    };

    /// <summary>The time that the rest takes at the pace so far.</summary>
    /// <value><see langword="null"/> when the total is not known, or nothing has ended yet.</value>
    public TimeSpan? EstimatedTimeRemaining =>
        TotalItems is { } total && (Ended > 0 || total == 0) ? Elapsed * (Math.Max(0, total - Ended) / (double)Math.Max(1, Ended)) : null;

    private long Ended => ItemsCompleted + ErrorCount;
}
