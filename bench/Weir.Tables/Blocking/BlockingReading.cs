namespace Weir.Tables.Blocking;

/// <summary>What one process has measured.</summary>
/// <param name="Nanoseconds">How long all calls took together.</param>
/// <param name="Most">How many were made at once, at most.</param>
/// <param name="Others">How many work items of its neighbours ran in a second.</param>
internal sealed record BlockingReading(double Nanoseconds, double Most, double Others)
{
    private const int Threads = 200;
    private static readonly TimeSpan Computation = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan Block = TimeSpan.FromMilliseconds(50);

    /// <summary>Measures an arm in this process, which has done nothing else.</summary>
    public static async Task<BlockingReading> MeasureAsync(BlockingArm arm)
    {
        // Compiles the code, and blocks nothing.
        await arm.RunAsync(3, arm.Limit, static _ => { });
        if (arm.Pool == PoolState.Wide)
        {
            ThreadPool.SetMinThreads(Threads, 1);
        }

        long others = 0;
        using CancellationTokenSource end = new();
        if (arm.Pool == PoolState.Busy)
        {
            for (int i = 0; i < 2; i++)
            {
                Repeat(Compute, () => Interlocked.Increment(ref others), end.Token);
                Repeat(static () => Thread.Sleep(Block), () => Interlocked.Increment(ref others), end.Token);
            }
        }

        int made = 0;
        int inside = 0;
        int most = 0;
        TimeSpan sleep = TimeSpan.FromMilliseconds(arm.Milliseconds);
        long began = Stopwatch.GetTimestamp();
        await arm.RunAsync(arm.Calls, arm.Limit, _ =>
        {
            int now = Interlocked.Increment(ref inside);
            int seen = Volatile.Read(ref most);
            while (now > seen)
            {
                seen = Interlocked.CompareExchange(ref most, now, seen);
            }

            Thread.Sleep(sleep);
            Interlocked.Decrement(ref inside);
            Interlocked.Increment(ref made);
        });
        TimeSpan took = Stopwatch.GetElapsedTime(began);
        double perSecond = Interlocked.Read(ref others) / took.TotalSeconds;
        await end.CancelAsync();
        return made == arm.Calls && most <= arm.Limit
            ? new(took.TotalNanoseconds, most, perSecond)
            : throw new InvalidOperationException($"{made} calls of {arm.Calls} were made, {most} at once.");
    }

    public static BlockingReading Parse(string line)
    {
        double[] values = [.. line.Split(' ').Select(static value => double.Parse(value, CultureInfo.InvariantCulture))];
        return new(values[0], values[1], values[2]);
    }

    public override string ToString() =>
        string.Join(' ', new[] { Nanoseconds, Most, Others }.Select(static value => value.ToString("R", CultureInfo.InvariantCulture)));

    /// <summary>A neighbour: a work item that queues itself again when it has run.</summary>
    private static void Repeat(Action work, Action count, CancellationToken end) => ThreadPool.UnsafeQueueUserWorkItem(
        _ =>
        {
            if (!end.IsCancellationRequested)
            {
                work();
                count();
                Repeat(work, count, end);
            }
        },
        null);

    private static void Compute()
    {
        long began = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(began) < Computation)
        {
            Thread.SpinWait(100);
        }
    }
}
