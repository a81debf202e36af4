namespace Weir.Core.Dispatch;

/// <summary>What an adaptive limit is told. Validated by the public API.</summary>
internal sealed record AdaptiveSettings
{
    public required int Min { get; init; }

    public required int Max { get; init; }

    public required int Initial { get; init; }

    /// <summary>How long a window of calls lasts at most, from its first completion.</summary>
    public required TimeSpan SampleInterval { get; init; }

    /// <summary>The latency above which a window is bad, or null.</summary>
    public TimeSpan? TargetLatency { get; init; }

    /// <summary>The part of a window's calls that has to be within the target.</summary>
    public double TargetPercentile { get; init; } = 0.95;

    public double MinSuccessRate { get; init; } = 0.95;

    public AdaptiveConcurrencyStrategy Increase { get; init; }

    public AdaptiveConcurrencyStrategy Decrease { get; init; }

    /// <summary>Told the old limit and the new one.</summary>
    public Func<int, int, ValueTask>? OnChange { get; init; }

    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether the latency counts without a target, because one of the directions goes by its gradient.</summary>
    public bool UsesGradient => Increase == AdaptiveConcurrencyStrategy.Gradient || Decrease == AdaptiveConcurrencyStrategy.Gradient;
}
