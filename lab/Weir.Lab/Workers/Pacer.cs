using System.Collections.Concurrent;

namespace Weir.Lab.Workers;

/// <summary>Makes starts due at a steady rate, on a thread of its own.</summary>
/// <remarks>
/// The platform's timers go in steps of milliseconds and then fall behind for good. This thread sleeps with the system's own call and, when it
/// wakes, makes all starts due whose time has come, so that the rate holds whatever a single sleep does. What a start waits for a free worker counts as
/// latency: that is the point. A start is dropped only when too many have not ended, never because no worker waits.
/// </remarks>
internal sealed partial class Pacer : IDisposable
{
    private const int SetTimerSlack = 29;
    private static readonly TimeSpan LongestSleep = TimeSpan.FromMilliseconds(5);

    // Later than this is late: it is beyond what a sleep is off.
    private static readonly long Late = Clock.Ticks(TimeSpan.FromMilliseconds(1));

    private readonly ConcurrentQueue<PacedStart> _due = new();
    private readonly double _interval;
    private readonly int? _limit;
    private readonly ManualResetEventSlim _allEnded = new();
    private readonly Thread _thread;
    private long _from;
    private long _firstCounted;
    private long _counted;
    private long _countedEnded;
    private long _emitted;
    private long _ended;
    private long _late;
    private long _dropped;
    private volatile bool _stop;

    public Pacer(double ratePerSecond, int? maxInFlight)
    {
        _interval = Stopwatch.Frequency / ratePerSecond;
        _limit = maxInFlight;
        _thread = new Thread(Emit) { IsBackground = true, Name = "Weir lab pacer", Priority = ThreadPriority.AboveNormal };
    }

    public SemaphoreSlim Starts { get; } = new(0);

    public InFlightMeter InFlight { get; } = new();

    /// <summary>How late starts became due. It is the generator's own error.</summary>
    public LatencyHistogram Lateness { get; } = new();

    /// <summary>Bytes that its thread has allocated; known when it has stopped.</summary>
    public long OwnBytes { get; private set; }

    /// <summary>When the first counted start is due.</summary>
    public long CountsFrom { get; private set; }

    /// <summary>How many starts were due within the window.</summary>
    public long Counted => _counted;

    /// <summary>How many starts of the window were dropped.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    /// <summary>How many operations of the window began more than a millisecond after they were due.</summary>
    public long LateStarts => Volatile.Read(ref _late);

    /// <summary>How many operations of the window have not ended.</summary>
    public long Unfinished => _counted - Dropped - Volatile.Read(ref _countedEnded);

    /// <summary>Begins to make starts due, of which those of a window after the ramp count.</summary>
    public void Start(TimeSpan ramp, TimeSpan duration)
    {
        _firstCounted = (long)(Clock.Ticks(ramp) / _interval);
        _counted = Math.Max(1, (long)(Clock.Ticks(duration) / _interval));
        _from = Stopwatch.GetTimestamp();
        CountsFrom = DueAt(_firstCounted);
        _thread.Start();
    }

    public bool TryTake(out PacedStart start)
    {
        if (!_stop && _due.TryDequeue(out start))
        {
            InFlight.Enter();
            return true;
        }

        start = default;
        return false;
    }

    public void Started(long late)
    {
        if (late > Late)
        {
            Interlocked.Increment(ref _late);
        }
    }

    public void Ended(bool counts)
    {
        InFlight.Exit();
        Interlocked.Increment(ref _ended);
        if (counts)
        {
            Interlocked.Increment(ref _countedEnded);
            SignalIfAllEnded();
        }
    }

    public bool WaitUntilAllEnded(TimeSpan limit, CancellationToken stop) => WindowState.Wait(_allEnded, limit, stop);

    /// <summary>Ends the pacing, and wakes the workers that wait for a start.</summary>
    public void Stop(int workers)
    {
        _stop = true;
        if (_thread.ThreadState.HasFlag(System.Threading.ThreadState.Unstarted))
        {
            _thread.Start();
        }

        _thread.Join();
        Starts.Release(workers);
    }

    public void Dispose()
    {
        // A worker that did not end still uses what it waits with.
        if (Unfinished <= 0 && InFlight.Depth == 0)
        {
            Starts.Dispose();
            _allEnded.Dispose();
        }
    }

    private long DueAt(long index) => _from + (long)(index * _interval);

    private void Emit()
    {
        TightenSleep();
        for (long next = 0; !_stop;)
        {
            long now = Stopwatch.GetTimestamp();
            int released = 0;
            for (long due; (due = DueAt(next)) <= now; next++)
            {
                released += TryEmit(next, due, now) ? 1 : 0;
            }

            if (released > 0)
            {
                Starts.Release(released);
            }

            TimeSpan left = Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), DueAt(next));
            PreciseSleep.For(left < LongestSleep ? left : LongestSleep);
        }

        OwnBytes = GC.GetAllocatedBytesForCurrentThread();
    }

    private bool TryEmit(long index, long due, long now)
    {
        bool counts = index >= _firstCounted && index < _firstCounted + _counted;
        if (counts)
        {
            Lateness.Record(Clock.Nanoseconds(due, now));
        }

        if (_emitted - Volatile.Read(ref _ended) >= _limit)
        {
            if (counts)
            {
                // Atomic, so that of the last drop and the last end the later one sees both: with a plain store neither may, and nobody signals the end.
                Interlocked.Increment(ref _dropped);
                SignalIfAllEnded();
            }

            return false;
        }

        _due.Enqueue(new PacedStart(due, counts));
        _emitted++;
        return true;
    }

    private void SignalIfAllEnded()
    {
        if (Unfinished <= 0)
        {
            _allEnded.Set();
        }
    }

    // By default the kernel lets a sleep last 50 us longer, to wake several sleepers at once.
    private static void TightenSleep()
    {
        if (OperatingSystem.IsLinux())
        {
            _ = ProcessControl(SetTimerSlack, 1, 0, 0, 0);
        }
    }

    [LibraryImport("libc", EntryPoint = "prctl")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static partial int ProcessControl(int option, nuint value, nuint unused3, nuint unused4, nuint unused5);
}
