namespace Weir.Core.Dispatch;

/// <summary>The settings of an adaptive limit. Validated by the public API.</summary>
internal sealed record AdaptiveSettings
{
    public required int Min { get; init; }

    public required int Max { get; init; }

    public required int Initial { get; init; }

    /// <summary>The longest duration of a window of calls, from its first completion.</summary>
    public required TimeSpan SampleInterval { get; init; }

    /// <summary>The latency above which a window is bad, or null.</summary>
    public TimeSpan? TargetLatency { get; init; }

    /// <summary>The fraction of a window's calls that must be within the target.</summary>
    public double TargetPercentile { get; init; } = 0.95;

    public double MinSuccessRate { get; init; } = 0.95;

    public AdaptiveConcurrencyStrategy Increase { get; init; }

    public AdaptiveConcurrencyStrategy Decrease { get; init; }

    /// <summary>Called with the old and the new limit.</summary>
    public Func<int, int, ValueTask>? OnChange { get; init; }

    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether the latency counts even without a target, because one of the directions uses its gradient.</summary>
    public bool UsesGradient => Increase == AdaptiveConcurrencyStrategy.Gradient || Decrease == AdaptiveConcurrencyStrategy.Gradient;
}
