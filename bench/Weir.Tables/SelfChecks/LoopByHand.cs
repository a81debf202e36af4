namespace Weir.Tables.SelfChecks;

/// <summary>Times a loop with a stopwatch, as in hand-written code.</summary>
internal static class LoopByHand
{
    private const double MostApart = 0.10;
    private const double LeastApart = 1;
    private const int Tries = 200;

    /// <summary>How far the lab may be from the quartiles of a loop by hand, as text for the page.</summary>
    public static readonly string Tolerance = FormattableString.Invariant($"{MostApart:P0} or {LeastApart:0} ns");

    /// <summary>The nanoseconds of one operation, try by try.</summary>
    /// <param name="loop">Does the operation so many times.</param>
    /// <param name="length">How long a try is at least.</param>
    public static IReadOnlyList<double> Times(Action<int> loop, TimeSpan length)
    {
        int count = 1;
        while (Time(loop, count) < length)
        {
            count *= 2;
        }

        return [.. Enumerable.Range(0, Tries).Select(_ => Time(loop, count).TotalNanoseconds / count)];
    }

    /// <summary>The quartiles of what was timed.</summary>
    public static (double Low, double Middle, double High) Quartiles(IEnumerable<double> times)
    {
        double[] sorted = [.. times.Order()];
        return (sorted[sorted.Length / 4], Spread.Of(sorted).Median, sorted[sorted.Length * 3 / 4]);
    }

    /// <summary>Whether what lies between two times is where the quartiles are, give or take the tolerance.</summary>
    public static bool Holds((double Low, double Middle, double High) quartiles, double least, double most)
    {
        double apart = Math.Max(LeastApart, MostApart * quartiles.Middle);
        return most >= quartiles.Low - apart && least <= quartiles.High + apart;
    }

    private static TimeSpan Time(Action<int> loop, int count)
    {
        long start = Stopwatch.GetTimestamp();
        loop(count);
        return Stopwatch.GetElapsedTime(start);
    }
}
