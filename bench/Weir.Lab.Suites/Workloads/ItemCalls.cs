namespace Weir.Lab.Suites.Workloads;

/// <summary>The calls for an item. All arms of a case get the same one.</summary>
internal static class ItemCalls
{
    /// <summary>Completes synchronously at once: what is measured is the overhead.</summary>
    public static ItemCall Light { get; } = static (item, _) => new ValueTask<int>(item * 2);

    /// <summary>Suspends once and continues at once.</summary>
    public static ItemCall Yielding { get; } = static async (item, _) =>
    {
        await Task.Yield();
        return item * 2;
    };

    /// <summary>Waits like a call to a remote service. The real wait is a multiple of the timer tick.</summary>
    public static ItemCall Delaying(int milliseconds) => async (item, token) =>
    {
        await Task.Delay(milliseconds, token);
        return item * 2;
    };

    /// <summary>The items up to <paramref name="ready"/> complete at once; the others only by cancellation.</summary>
    public static ItemCall StuckAfter(int ready) => (item, token) => item <= ready ? new ValueTask<int>(item * 2) : Stuck(token);

    /// <summary>Keeps a core busy: <paramref name="iterations"/> gives the loop's length for an item.</summary>
    public static ItemCall Spinning(Func<int, int> iterations) => (item, _) => new ValueTask<int>(CalibratedSpin.Run(item, iterations(item)));

    /// <summary>
    /// Throws at once for one item in <paramref name="oneIn"/>, the first <paramref name="times"/> times. Counts attempts, so it is for one run.
    /// </summary>
    public static ItemCall FailingFirst(int oneIn, int times, int count)
    {
        int[] attempts = new int[count + 1];
        return (item, _) => item % oneIn == 0 && Interlocked.Increment(ref attempts[item]) <= times
            ? throw new InvalidOperationException("Not yet.")
            : new ValueTask<int>(item * 2);
    }

    private static async ValueTask<int> Stuck(CancellationToken token)
    {
        await Task.Delay(Timeout.Infinite, token);
        return 0;
    }
}
