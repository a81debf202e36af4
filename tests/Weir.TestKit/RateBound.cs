namespace Weir.TestKit;

/// <summary>The promise of a rate limit: no stretch of time holds more starts than the burst and the rate allow.</summary>
public static class RateBound
{
    /// <summary>By how many tokens the worst stretch of time, of any length and anywhere, exceeds what is allowed; negative when none does.</summary>
    /// <param name="starts">When the calls started, in the clock's ticks, in any order.</param>
    /// <param name="frequency">The clock's ticks a second.</param>
    /// <param name="tokensPerSecond">The rate.</param>
    /// <param name="burst">The burst, in tokens.</param>
    /// <param name="cost">The tokens of one call.</param>
    public static double Excess(IEnumerable<long> starts, long frequency, double tokensPerSecond, double burst, double cost = 1)
    {
        // What a stretch that ends here holds beyond the rate, the worst of them: the one that began when it was last zero.
        double over = 0;
        double worst = 0;
        long? last = null;
        foreach (long start in starts.Order())
        {
            over = Math.Max(0, over - ((start - last.GetValueOrDefault(start)) * tokensPerSecond / frequency)) + cost;
            worst = Math.Max(worst, over);
            last = start;
        }

        return worst - burst;
    }
}
