using System.Diagnostics;

namespace Weir.Lab.Runtimes;

/// <summary>Measures a row: its two ways in turns, each warmed up.</summary>
internal static class Measurement
{
    private static readonly TimeSpan LongRun = TimeSpan.FromSeconds(1);

    /// <summary>The runtime compiles methods again, better, once nothing new was called for 100 ms, and then needs some time for all of them.</summary>
    private static readonly TimeSpan LeastWarmUp = TimeSpan.FromMilliseconds(500);

    /// <summary>Measures.</summary>
    /// <param name="row">The row.</param>
    /// <param name="index">Its index among all.</param>
    /// <param name="span">How long both ways together are measured at least.</param>
    /// <exception cref="InvalidOperationException">A way did other work than the row's.</exception>
    public static async Task<RowReading> OfAsync(TableRow row, int index, TimeSpan span)
    {
        Func<Task<long>>?[] ways = [row.Weir, row.Platform];
        List<double>[] times = [[], []];
        List<double>[] bytes = [[], []];
        TimeSpan once = await AllAsync(row, ways, times, bytes);

        // What lasts so long only waits, and what is compiled meanwhile does not show.
        if (once < LongRun)
        {
            TimeSpan warmUp = span / 2 < LeastWarmUp ? LeastWarmUp : span / 2;
            long start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start) < warmUp)
            {
                await AllAsync(row, ways, times, bytes);
            }

            foreach (List<double> values in times.Concat(bytes))
            {
                values.Clear();
            }

            start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start) < span || times.Max(static t => t.Count) < 5)
            {
                await AllAsync(row, ways, times, bytes);
            }
        }

        return new RowReading(index, Median(times[0]), Median(bytes[0]), Median(times[1]), Median(bytes[1]));
    }

    private static async Task<TimeSpan> AllAsync(TableRow row, Func<Task<long>>?[] ways, List<double>[] times, List<double>[] bytes)
    {
        long begin = Stopwatch.GetTimestamp();
        for (int i = 0; i < ways.Length; i++)
        {
            if (ways[i] is not { } way)
            {
                continue;
            }

            long allocated = GC.GetTotalAllocatedBytes(precise: true);
            long start = Stopwatch.GetTimestamp();
            long sum = await way();
            times[i].Add(Stopwatch.GetElapsedTime(start).TotalNanoseconds);
            bytes[i].Add(GC.GetTotalAllocatedBytes(precise: true) - allocated);
            if (sum != row.Expected)
            {
                throw new InvalidOperationException($"{row.Table}, {row.Name}: the results add up to {sum} instead of {row.Expected}.");
            }
        }

        return Stopwatch.GetElapsedTime(begin);
    }

    private static double Median(List<double> values)
    {
        if (values.Count == 0)
        {
            return double.NaN;
        }

        values.Sort();
        return (values[(values.Count - 1) / 2] + values[values.Count / 2]) / 2;
    }
}
