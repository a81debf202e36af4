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
