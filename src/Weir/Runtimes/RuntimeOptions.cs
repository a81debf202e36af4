namespace Weir.Runtimes;

/// <summary>The options of all runtimes. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record RuntimeOptions
{
    internal static RuntimeOptions Default { get; } = new();

    /// <summary>How long <see cref="IAsyncDisposable.DisposeAsync"/> lets running calls continue before it ends them.</summary>
    /// <value>Zero or more, or <see cref="Timeout.InfiniteTimeSpan"/> to wait for as long as they take. The default is 30 seconds.</value>
    public TimeSpan GracePeriod { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The clock for time limits and the grace period.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.GracePeriod(GracePeriod, nameof(GracePeriod));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
