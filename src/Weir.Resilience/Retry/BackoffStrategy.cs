namespace Weir.Resilience;

/// <summary>How the delay before a retry grows. Here b is the base delay, n the number of the retry from 1, cap the longest delay.</summary>
public enum BackoffStrategy
{
    /// <summary>min(cap, b * 2^(n-1)).</summary>
    Exponential = 0,

    /// <summary>A random delay from zero to min(cap, b * 2^(n-1)).</summary>
    ExponentialJitter = 1,

    /// <summary>b before the first retry, then a random delay from b to min(cap, max(b, 3 * the previous delay)).</summary>
    DecorrelatedJitter = 2,

    /// <summary>min(cap, b * n).</summary>
    Linear = 3,

    /// <summary>A random delay from zero to min(cap, b * n).</summary>
    LinearJitter = 4,
}
