namespace Weir.Resilience;

/// <summary>How many calls per second, and how many at once. Immutable.</summary>
/// <remarks>The values are checked when a <see cref="TokenBucket"/> is created from them.</remarks>
public sealed record RateLimitOptions : IRateLimitSetting
{
    // The bucket counts time in a double, which must be able to hold the time of each call. A rate below is no rate: one call in 31,000 years.
    private const double MostSecondsAnOperation = 1e12;

    // Null until somebody sets it, so that it follows a rate that is set later, in a copy too.
    private readonly double? _burst;

    /// <summary>How many tokens per second flow into the bucket.</summary>
    /// <value>A finite number greater than 0, at least a 1e-12th of <see cref="TokensPerOperation"/>. The default is 100.</value>
    public double TokensPerSecond { get; init; } = 100;

    /// <summary>How many tokens the bucket holds, and so how many can be used at once after a pause. The bucket starts full.</summary>
    /// <value>
    /// A finite number, at least <see cref="TokensPerOperation"/>. While it is not set, it follows the rate: <see cref="TokensPerSecond"/>, what flows in during
    /// a second, but at least one call's <see cref="TokensPerOperation"/>.
    /// </value>
    /// <remarks>
    /// With 10 tokens per second and no burst of its own, 10 calls start at once and 10 more during the first second; each later second has 10. With a burst of
    /// 1, they start one by one, each a tenth of a second after the last, from the first second on.
    /// </remarks>
    public double BurstCapacity
    {
        get => _burst ?? Math.Max(TokensPerSecond, TokensPerOperation);
        init => _burst = value;
    }

    /// <summary>How many tokens one call takes.</summary>
    /// <value>A finite number greater than 0. The default is 1.</value>
    public double TokensPerOperation { get; init; } = 1;

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Buckets of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.Positive(TokensPerSecond, nameof(TokensPerSecond));
        Require.Positive(TokensPerOperation, nameof(TokensPerOperation));
        Require.Positive(BurstCapacity, nameof(BurstCapacity));
        if (BurstCapacity < TokensPerOperation)
        {
            throw new ArgumentOutOfRangeException(
                nameof(BurstCapacity), BurstCapacity, $"{nameof(BurstCapacity)} must be at least {nameof(TokensPerOperation)}, which is {TokensPerOperation}.");
        }

        if (TokensPerOperation / TokensPerSecond > MostSecondsAnOperation)
        {
            throw new ArgumentOutOfRangeException(
                nameof(TokensPerSecond),
                TokensPerSecond,
                $"{nameof(TokensPerSecond)} must be at least 1E-12 times {nameof(TokensPerOperation)}, which is {TokensPerOperation}.");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
