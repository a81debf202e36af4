namespace Weir.Cli.Commands.Hash;

/// <summary>Samples a running round on its own thread: how many reads wait in the kernel, and how the round progresses.</summary>
internal sealed class RoundSampler : IDisposable
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(5);
    private static readonly TimeSpan PointPeriod = TimeSpan.FromMilliseconds(100);
    private const int MostPoints = 120;

    private readonly Func<long> _done;
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _stop = new();
    private readonly List<TimelineRecord> _points = [];
    private long _sum;
    private int _samples;
    private int _max;

    private RoundSampler(Func<long> done)
    {
        _done = done;
        _thread = new Thread(Run) { IsBackground = true, Name = "sampler" };
    }

    /// <summary>Reads that waited in the kernel, on average; <see langword="null"/> if it cannot be observed.</summary>
    public double? Average => _samples > 0 ? (double)_sum / _samples : null;

    /// <summary>The most reads that waited in the kernel; <see langword="null"/> if it cannot be observed.</summary>
    public double? Max => _samples > 0 ? _max : null;

    /// <summary>Starts to look.</summary>
    /// <param name="done">How many operations have ended up to now.</param>
    public static RoundSampler Start(Func<long> done)
    {
        RoundSampler sampler = new(done);
        sampler._thread.Start();
        return sampler;
    }

    /// <summary>Stops sampling, and returns the course of the round in at most 120 points.</summary>
    public IReadOnlyList<TimelineRecord> Stop()
    {
        _stop.Set();
        _thread.Join();
        return Thinned(_points, MostPoints);
    }

    public void Dispose() => _stop.Dispose();

    /// <summary>Joins neighbours until there are few enough.</summary>
    internal static IReadOnlyList<TimelineRecord> Thinned(IReadOnlyList<TimelineRecord> points, int most)
    {
        int group = (points.Count + most - 1) / most;
        if (group <= 1)
        {
            return points;
        }

        List<TimelineRecord> thinned = [];
        double begin = 0;
        foreach (TimelineRecord[] joined in points.Chunk(group))
        {
            double operations = 0;
            double from = begin;
            foreach (TimelineRecord point in joined)
            {
                operations += point.Rate * (point.Second - from);
                from = point.Second;
            }

            TimelineRecord last = joined[^1];
            thinned.Add(new TimelineRecord(last.Second, operations / (last.Second - begin), joined.Sum(static p => p.GcPauseMs), last.PoolThreads));
            begin = last.Second;
        }

        return thinned;
    }

    private void Run()
    {
        using KernelReads? reads = KernelReads.TryOpen();
        long start = Stopwatch.GetTimestamp();
        long pointAt = start;
        long doneAt = _done();
        TimeSpan pauseAt = GC.GetTotalPauseDuration();
        bool stopped;
        do
        {
            stopped = _stop.Wait(Period);
            if (reads is not null && !stopped)
            {
                int count = reads.Count();
                _sum += count;
                _samples++;
                _max = Math.Max(_max, count);
            }

            long now = Stopwatch.GetTimestamp();
            double length = Clock.Nanoseconds(pointAt, now) / 1e9;
            if (length >= PointPeriod.TotalSeconds)
            {
                long done = _done();
                TimeSpan pause = GC.GetTotalPauseDuration();
                _points.Add(new TimelineRecord(
                    Clock.Nanoseconds(start, now) / 1e9,
                    (done - doneAt) / length,
                    (pause - pauseAt).TotalMilliseconds,
                    ThreadPool.ThreadCount));
                (pointAt, doneAt, pauseAt) = (now, done, pause);
            }
        }
        while (!stopped);
    }
}
