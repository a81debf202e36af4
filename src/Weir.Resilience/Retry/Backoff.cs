namespace Weir.Resilience;

/// <summary>The delay before a retry, by the formulas of <see cref="BackoffStrategy"/>, in units of 100 ns.</summary>
public static class Backoff
{
    /// <summary>Computes the delay before a retry. It is a pure function of its arguments and the randomness.</summary>
    /// <param name="strategy">How the delay grows.</param>
    /// <param name="baseDelay">The base delay; not negative.</param>
    /// <param name="maxDelay">The longest delay; not negative.</param>
    /// <param name="attempt">The number of the failed attempt, from 1, which is also the number of the retry that follows.</param>
    /// <param name="previousDelay">
    /// The delay before the failed attempt; zero for the first attempt. Only <see cref="BackoffStrategy.DecorrelatedJitter"/> uses it.
    /// </param>
    /// <param name="randomness">Returns a number from 0 to less than 1 at each call. Strategies without jitter do not call it.</param>
    /// <returns>The delay, from zero to <paramref name="maxDelay"/>, whatever the arguments: it cannot overflow.</returns>
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

    // Comparing the shifted cap rather than the product leaves nothing that could overflow.
    private static long Doubled(long ticks, int times, long cap) => times > 62 || ticks > cap >> times ? (ticks == 0 ? 0 : cap) : ticks << times;

    private static long Times(long ticks, int factor, long cap) => ticks > cap / factor ? cap : ticks * factor;

    private static long Between(long low, long high, Func<double> randomness)
    {
        double chance = randomness();

        // The user's function may break its contract; the delay still stays in its range. NaN fails the comparison and becomes zero.
        chance = chance > 0 ? Math.Min(chance, 1) : 0;
        return low + Math.Min((long)((high - low) * chance), high - low);
    }
}
