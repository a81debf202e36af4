namespace Weir.Cli.Profiling;

/// <summary>
/// Reads every few milliseconds how long each thread of this process had something to do: with a processor, or waiting for one. So neighbours do not turn work
/// into waiting. Only Linux tells it at this resolution.
/// </summary>
internal sealed class ThreadTimes : IDisposable
{
    private const string Tasks = "/proc/self/task";
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(20);

    private readonly ManualResetEventSlim _end = new();
    private readonly List<(DateTime At, Dictionary<int, long> Nanoseconds)> _readings = [];
    private readonly Thread? _reading;

    public ThreadTimes()
    {
        if (File.Exists(Tasks + $"/{Environment.ProcessId}/schedstat"))
        {
            _reading = new Thread(Read) { IsBackground = true, Name = "profile: thread times" };
            _reading.Start();
        }
    }

    /// <summary>Ends the reading. Only then may the times be asked for.</summary>
    public void Dispose()
    {
        _end.Set();
        _reading?.Join();
    }

    /// <summary>The number of the interval between two readings in which a moment lies; -1 if it lies in none.</summary>
    public int IntervalOf(DateTime at)
    {
        int next = _readings.FindIndex(r => r.At > at);
        return next - 1;
    }

    /// <summary>The share of an interval in which a thread had something to do, from 0 to 1; <see langword="null"/> if it is not known.</summary>
    public double? Share(int thread, int interval)
    {
        if (interval < 0 || interval + 1 >= _readings.Count
            || !_readings[interval + 1].Nanoseconds.TryGetValue(thread, out long last) || !_readings[interval].Nanoseconds.TryGetValue(thread, out long first))
        {
            return null;
        }

        return Math.Clamp((last - first) / LengthOf(interval), 0, 1);
    }

    /// <summary>The nanoseconds of an interval for which shares are known.</summary>
    public double LengthOf(int interval) => (_readings[interval + 1].At - _readings[interval].At).TotalNanoseconds;

    private void Read()
    {
        do
        {
            Dictionary<int, long> times = [];
            foreach (string task in Directory.EnumerateDirectories(Tasks))
            {
                try
                {
                    // The time with a processor, the time without one though ready, and the number of turns.
                    times[int.Parse(Path.GetFileName(task), CultureInfo.InvariantCulture)] =
                        File.ReadAllText(task + "/schedstat").Split(' ').Take(2).Sum(static t => long.Parse(t, CultureInfo.InvariantCulture));
                }
                catch (IOException)
                {
                    // It has ended.
                }
            }

            _readings.Add((DateTime.UtcNow, times));
        }
        while (!_end.Wait(Pause));
    }
}
