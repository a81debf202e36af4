namespace Weir.Resilience;

/// <summary>A repeatable source of random numbers for jitter: SplitMix64 by Steele, Lea and Flood (OOPSLA 2014).</summary>
/// <remarks>
/// Thread-safe without a lock: one atomic addition per number. On a single thread, the same seed gives the same numbers. Do not use it for secrets.
/// </remarks>
/// <param name="seed">The start of the sequence.</param>
public sealed class SeededRandom(long seed)
{
    private const long Step = unchecked((long)0x9E3779B97F4A7C15);

    private long _state = seed;

    // A Guid has enough random bits for jitter, which is no secret. RandomNumberGenerator would load the system's cryptography in a first call.
    internal static SeededRandom Shared { get; } = new(BitConverter.ToInt64(Guid.NewGuid().ToByteArray()));

    /// <summary>Returns the next number.</summary>
    /// <returns>A number from 0 to less than 1, one of 2^53 equally likely values.</returns>
    public double NextDouble()
    {
        ulong mixed = (ulong)Interlocked.Add(ref _state, Step);
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        mixed ^= mixed >> 31;
        return (mixed >> 11) * (1.0 / (1UL << 53));
    }
}
