using Weir.Core.Metering;

namespace Weir;

/// <summary>Metrics samples of a run, and the tags of its metrics. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record MetricsOptions
{
    /// <summary>How often a sample is taken during the run.</summary>
    /// <value>More than zero, or <see cref="Timeout.InfiniteTimeSpan"/> for the final sample only. The default is 10 seconds.</value>
    public TimeSpan SampleInterval { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Called with each sample; <see langword="null"/> for none.</summary>
    /// <remarks>
    /// It is called on the thread pool, one call at a time: a sample that falls due during a call is skipped. The final sample, with
    /// <see cref="MetricsSnapshot.IsFinal"/>, is always taken, before the operator's task or stream ends. An exception from it is discarded.
    /// </remarks>
    public Func<MetricsSnapshot, ValueTask>? OnMetricsSample { get; init; }

    /// <summary>How long the end of the run waits in total for calls to <see cref="OnMetricsSample"/>.</summary>
    /// <value>More than zero. The default is one second. See <see cref="ProgressOptions.CallbackTimeout"/>.</value>
    public TimeSpan CallbackTimeout { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>Your own tags for the metrics and the span of the run, in addition to the library's. They need no <see cref="OnMetricsSample"/>.</summary>
    /// <value><see langword="null"/>, the default, for none. Keys must not be empty. Values other than text, numbers and booleans become text.</value>
    public IReadOnlyList<KeyValuePair<string, object?>>? Tags { get; init; }

    /// <summary>The options with other tags; null if nothing is set.</summary>
    internal static MetricsOptions? WithTags(MetricsOptions? metrics, IReadOnlyList<KeyValuePair<string, object?>>? tags) =>
        tags is null && metrics?.Tags is null ? metrics : (metrics ?? new MetricsOptions()) with { Tags = tags };

    internal void Validate()
    {
        Require.Keys(Tags, nameof(Tags));
        Require.Interval(SampleInterval, nameof(SampleInterval));
        Require.Positive(CallbackTimeout, nameof(CallbackTimeout));
    }
}

/// <summary>
/// What a run is doing at one moment, and has done so far. The counts are read one after the other while workers continue, so they can differ by what happened
/// in between. Those of the final sample are exact.
/// </summary>
public sealed record MetricsSnapshot
{
    /// <summary>The <see cref="ParallelRunOptions.OperationName"/> of the run; <see langword="null"/> if it has none.</summary>
    public string? OperationName { get; init; }

    /// <summary>Items inside their call at this moment.</summary>
    public required int ActiveWorkers { get; init; }

    /// <summary>How many items may be inside their call at once. It changes with <see cref="ParallelRunOptions.AdaptiveConcurrency"/>.</summary>
    public required int ConcurrencyLimit { get; init; }

    /// <summary>
    /// What waits inside the run: items that were read but have not started, items between two attempts, and a stream's results that its consumer has not
    /// taken.
    /// </summary>
    public required long QueueDepth { get; init; }

    /// <summary>The items in <see cref="QueueDepth"/> that wait for another attempt or for an open circuit.</summary>
    public required int WaitingForRetry { get; init; }

    /// <summary>Items whose call has started, including those that have ended or wait for another attempt.</summary>
    public required long Started { get; init; }

    /// <summary>Items that have ended with a result.</summary>
    public required long Succeeded { get; init; }

    /// <summary>Items that failed or timed out, but not those cancelled because the run stopped.</summary>
    public required long Failed { get; init; }

    /// <summary>The retries decided on: attempts after each item's first.</summary>
    public required long Retries { get; init; }

    /// <summary>How often a stream has paused reading its source because its consumer was behind.</summary>
    public required long ThrottleEvents { get; init; }

    /// <summary>How often reading resumed after a pause.</summary>
    public required long DrainEvents { get; init; }

    /// <summary>The time since the start of the run.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>Whether this is the last sample of the run.</summary>
    public required bool IsFinal { get; init; }

    /// <summary>Items that have ended with a result, per second since the start.</summary>
    public double ItemsPerSecond => Elapsed > TimeSpan.Zero ? Succeeded / Elapsed.TotalSeconds : 0;

    /// <summary>The fraction of ended items that failed. Cancelled items do not count.</summary>
    /// <value>From 0 to 1; 0 if no item has ended.</value>
    public double FailureRate => Succeeded + Failed == 0 ? 0 : (double)Failed / (Succeeded + Failed);

    /// <summary>What waits inside a run: <see cref="QueueDepth"/>.</summary>
    internal static long QueueDepthOf(RunSample sample) =>
        Math.Max(0, sample.Claimed - sample.Succeeded - sample.Unsuccessful - sample.Active) + sample.Undelivered;
}
