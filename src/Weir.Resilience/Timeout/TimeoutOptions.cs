namespace Weir.Resilience;

/// <summary>How long one call may take. Immutable.</summary>
/// <remarks>The values are checked when a <see cref="TimeoutPolicy{TResult}"/> is created from them.</remarks>
public sealed record TimeoutOptions
{
    /// <summary>The limit.</summary>
    /// <value>More than zero, at most 2^32 - 2 ms; <see cref="System.Threading.Timeout.InfiniteTimeSpan"/> for no limit. The default is 30 seconds.</value>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.Positive(Require.NoneIfInfinite(Timeout), nameof(Timeout));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
