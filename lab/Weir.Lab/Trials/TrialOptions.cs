namespace Weir.Lab.Trials;

/// <summary>How a run of interleaved trials is done. Immutable.</summary>
internal sealed record TrialOptions
{
    /// <summary>How many windows of each arm are measured.</summary>
    /// <value>At least 1. The default is 5.</value>
    public int Trials { get; init; } = 5;

    /// <summary>How long a window lasts at least: passes are repeated until it is over.</summary>
    /// <value>The default is 1 second. Zero means one pass.</value>
    public TimeSpan MinimumWindow { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>How long the warm-up of an arm lasts at most; it ends before, when the arm's rate is steady.</summary>
    /// <value>The default is 1 second. Zero means one warm-up pass.</value>
    public TimeSpan LongestWarmUp { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>How much longer the warm-up of an arm lasts at most while code is being compiled.</summary>
    /// <value>The default is 5 seconds.</value>
    public TimeSpan CompilerPatience { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(Trials, 1, nameof(Trials));
        ArgumentOutOfRangeException.ThrowIfLessThan(MinimumWindow, TimeSpan.Zero, nameof(MinimumWindow));
        ArgumentOutOfRangeException.ThrowIfLessThan(LongestWarmUp, TimeSpan.Zero, nameof(LongestWarmUp));
        ArgumentOutOfRangeException.ThrowIfLessThan(CompilerPatience, TimeSpan.Zero, nameof(CompilerPatience));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
