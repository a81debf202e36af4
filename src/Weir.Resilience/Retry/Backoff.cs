namespace Weir.Resilience;

/// <summary>The delay before a retry, by the formulas of <see cref="BackoffStrategy"/>, in units of 100 ns.</summary>
public static class Backoff
{
    /// <summary>Computes the delay before a retry. A pure function of its arguments and the randomness.</summary>
    /// <param name="strategy">How the delay grows.</param>
    /// <param name="baseDelay">The base delay; not negative.</param>
    /// <param name="maxDelay">The longest delay; not negative.</param>
    /// <param name="attempt">The number of the attempt that failed, from 1: that of the retry that follows.</param>
    /// <param name="previousDelay">The delay before the attempt that failed; zero for the first. Only <see cref="BackoffStrategy.DecorrelatedJitter"/> looks at it.</param>
    /// <param name="randomness">Gives a number at least 0 and less than 1 at each call. Not called by strategies without jitter.</param>
    /// <returns>The delay, from zero to <paramref name="maxDelay"/>, whatever the arguments: there is no overflow.</returns>
    /// <exception cref="ArgumentOutOfRangeException">A delay is negative, <paramref name="attempt"/> is less than 1, or the strategy is unknown.</exception>
    public static TimeSpan GetDelay(
        BackoffStrategy strategy, TimeSpan baseDelay, TimeSpan maxDelay, int attempt, TimeSpan previousDelay, Func<double> randomness)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(baseDelay, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(maxDelay, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(previousDelay, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(attempt, 1);
        ArgumentNullException.ThrowIfNull(randomness);
        long cap = maxDelay.Ticks;
        long start = Math.Min(baseDelay.Ticks, cap);
        return new TimeSpan(strategy switch
        {
            BackoffStrategy.Exponential => Doubled(start, attempt - 1, cap),
            BackoffStrategy.ExponentialJitter => Between(0, Doubled(start, attempt - 1, cap), randomness),
            BackoffStrategy.DecorrelatedJitter when attempt == 1 => start,
            BackoffStrategy.DecorrelatedJitter => Between(start, Math.Max(start, Times(previousDelay.Ticks, 3, cap)), randomness),
            BackoffStrategy.Linear => Times(start, attempt, cap),
            BackoffStrategy.LinearJitter => Between(0, Times(start, attempt, cap), randomness),
            _ => throw new ArgumentOutOfRangeException(nameof(strategy), strategy, "The strategy is not one of BackoffStrategy."),
        });
    }

    // Comparing the cap shifted down, instead of the product, leaves nothing that could overflow.
    private static long Doubled(long ticks, int times, long cap) => times > 62 || ticks > cap >> times ? (ticks == 0 ? 0 : cap) : ticks << times;

    private static long Times(long ticks, int factor, long cap) => ticks > cap / factor ? cap : ticks * factor;

    private static long Between(long low, long high, Func<double> randomness)
    {
        double chance = randomness();

        // A user's function may break its promise; the delay keeps its range all the same. NaN fails the comparison and becomes zero.
        chance = chance > 0 ? Math.Min(chance, 1) : 0;
        return low + Math.Min((long)((high - low) * chance), high - low);
    }
}
