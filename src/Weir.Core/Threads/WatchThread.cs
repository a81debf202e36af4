using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Core.Threads;

// The timers of the engine.
//
// Time limits need no thread of the pool, because the items of a run may hold them all. The stall watch and all limits on the system's clock are timers of one
// thread per process, which runs no user code. The work that follows a limit goes to the pool, or to a spare thread if the pool has none (UrgentWork).
//
// - Everything is under the one lock: the heap of armed timers, and each timer's due time, period and index in it. The thread waits on that lock for the first
//   due time; whoever sets an earlier one wakes it.
// - A callback runs outside the lock. A timer that is disposed of while its callback runs does not fire again.
// - The thread starts with the first timer and ends when none was set for a while. Both are decided under the lock, so no timer is left without a thread.

/// <summary>
/// Runs the timers of the engine on their own thread. The system's timers fire on the thread pool, whose threads may all be inside the very items that a time
/// limit is supposed to end. There is one thread per process. It starts when a timer is first set, and ends when none has been set for a while.
/// </summary>
/// <param name="grace">How long the thread stays while no timer is set.</param>
internal sealed class WatchThread(TimeSpan grace)
{
    private static readonly double PerMillisecond = Stopwatch.Frequency / 1000.0;
    // How soon a timer fires again that failed for lack of memory.
    private static readonly TimeSpan Again = TimeSpan.FromMilliseconds(10);

    private readonly object _lock = new();
    private readonly TimerHeap _timers = new();
    private bool _runs;

    // The time until which the thread waits, or the smallest number while it does not wait and will look by itself.
    private long _wakesAt = long.MinValue;

    /// <summary>The process's instance. It stays for two seconds while no timer is set.</summary>
    public static readonly WatchThread Shared = new(TimeSpan.FromSeconds(2));

    /// <summary>Whether the thread exists.</summary>
    public bool IsRunning
    {
        get
        {
            lock (_lock)
            {
                return _runs;
            }
        }
    }

    public bool Set(WatchTimer timer, TimeSpan dueTime, TimeSpan period)
    {
        bool start = false;
        lock (_lock)
        {
            if (timer.IsDisposed)
            {
                return false;
            }

            if (dueTime == Timeout.InfiniteTimeSpan)
            {
                _timers.Remove(timer);
                return true;
            }

            timer.Due = Stopwatch.GetTimestamp() + ToTicks(dueTime);
            timer.Period = period > TimeSpan.Zero ? ToTicks(period) : 0;
            _timers.Set(timer);
            if (!_runs)
            {
                _runs = true;
                start = true;
            }
            else if (timer.Due < _wakesAt)
            {
                _wakesAt = long.MinValue;
                Monitor.Pulse(_lock);
            }
        }

        if (start)
        {
            Start();
        }

        return true;
    }

    public void Remove(WatchTimer timer)
    {
        lock (_lock)
        {
            timer.IsDisposed = true;
            _timers.Remove(timer);
        }
    }

    private void Start()
    {
        try
        {
            new Thread(Run) { IsBackground = true, Name = "Weir watch" }.UnsafeStart();
        }
        catch
        {
            // There is no memory for a thread. The next timer tries again.
            lock (_lock)
            {
                _runs = false;
            }

            throw;
        }
    }

    private void Run()
    {
        while (FireNext())
        {
        }
    }

    // Separate, as is the look at the first timer: the thread stays in its loops for long, and what a local of theirs held would be kept while it waits. A
    // timer leads to its run.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool FireNext()
    {
        if (TakeDue() is not { } timer)
        {
            return false;
        }

        if (!timer.TryFire())
        {
            FireAgain(timer);
        }

        return true;
    }

    /// <summary>A timer failed and belongs to nobody who could fail with it, or there was no memory for that: it fires again, unless it does anyway.</summary>
    private void FireAgain(WatchTimer timer)
    {
        lock (_lock)
        {
            // It was in the heap before it fired, so there is room for it without memory, unless others took it.
            if (!timer.IsDisposed && timer.Index < 0 && _timers.HasRoom)
            {
                timer.Due = Stopwatch.GetTimestamp() + ToTicks(Again);
                _timers.Set(timer);
            }
        }
    }

    /// <summary>Waits for the next due timer.</summary>
    /// <returns>Null if there was none for so long that the thread ends. Setting a timer after that starts another thread.</returns>
    private WatchTimer? TakeDue()
    {
        lock (_lock)
        {
            while (true)
            {
                int wait = (int)grace.TotalMilliseconds;
                bool isIdle = _timers.Count == 0;
                _wakesAt = long.MaxValue;
                if (!isIdle && IsDueNeedsLock(ref wait))
                {
                    return TakeFirstNeedsLock();
                }

                bool told = Monitor.Wait(_lock, wait);
                if (!told && isIdle && _timers.Count == 0)
                {
                    _runs = false;
                    return null;
                }
            }
        }
    }

    /// <summary>Whether the first timer is due; if not, shortens the wait.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool IsDueNeedsLock(ref int wait)
    {
        long due = _timers.First.Due;
        long now = Stopwatch.GetTimestamp();
        if (due <= now)
        {
            return true;
        }

        // Rounded up, so that no timer fires early and none spins. Not longer than the grace time, because removing the last timer does not wake the thread.
        wait = (int)Math.Min(wait, Math.Ceiling((due - now) / PerMillisecond));
        _wakesAt = due;
        return false;
    }

    private WatchTimer TakeFirstNeedsLock()
    {
        WatchTimer timer = _timers.First;
        _wakesAt = long.MinValue;
        if (timer.Period > 0)
        {
            timer.Due = Stopwatch.GetTimestamp() + timer.Period;
            _timers.Set(timer);
        }
        else
        {
            _timers.Remove(timer);
        }

        return timer;
    }

    private static long ToTicks(TimeSpan span) => (long)Math.Ceiling(span.TotalMilliseconds * PerMillisecond);
}

/// <summary>
/// A timer of the watch. Its callback runs on the watch's thread, which all runs of the process share: it must be short and run no user code.
/// </summary>
internal sealed class WatchTimer(WatchThread watch, TimerCallback callback, object? state) : ITimer
{
    public WatchTimer(TimerCallback callback, object? state)
        : this(WatchThread.Shared, callback, state)
    {
    }

    /// <summary>When it fires, as a Stopwatch timestamp. Guarded by the watch's lock, like everything below.</summary>
    public long Due;

    /// <summary>The interval, in Stopwatch ticks; 0 if it fires only once.</summary>
    public long Period;

    /// <summary>The position in the watch's heap; -1 while it is not armed.</summary>
    public int Index = -1;

    public bool IsDisposed;

    /// <summary>Runs the callback. What it throws is the failure of whose timer it is: that of the state.</summary>
    /// <returns>False if it threw and nobody could be told, so that it has to fire again.</returns>
    public bool TryFire()
    {
        try
        {
            FaultPoint.Pass(nameof(WatchTimer), state ?? this);
            callback(state);
            return true;
        }
        catch (Exception e)
        {
            return Unattended.TryReport(state, e);
        }
    }

    public bool Change(TimeSpan dueTime, TimeSpan period) => watch.Set(this, dueTime, period);

    public void Dispose() => watch.Remove(this);

    public ValueTask DisposeAsync()
    {
        Dispose();
        return default;
    }
}

/// <summary>The system's clock with the watch's timers, which fire even while no pool thread is free.</summary>
internal sealed class WatchTime : TimeProvider
{
    public static readonly WatchTime Instance = new();

    /// <summary>The provider for the engine's own timers: the run's clock, unless that is the system's.</summary>
    public static TimeProvider For(TimeProvider time) => time == System ? Instance : time;

    /// <summary>Creates a timer of the engine: of the watch, or of the run's clock if that is not the system's.</summary>
    /// <param name="time">The clock of the run.</param>
    /// <param name="callback">Must be short and run no user code.</param>
    /// <param name="state">Whose timer it is: what the callback throws is its failure.</param>
    public static ITimer CreateTimer(TimeProvider time, TimerCallback callback, object state) =>
        time == System
            ? new WatchTimer(callback, state)
            : time.CreateTimer(
                static timer => ((WatchTimer)timer!).TryFire(), new WatchTimer(callback, state), Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        WatchTimer timer = new(callback, state);
        timer.Change(dueTime, period);
        return timer;
    }
}

/// <summary>Armed timers, the earliest first: a binary heap whose entries know their positions, so that one can be moved or removed without a search.</summary>
internal sealed class TimerHeap
{
    private WatchTimer[] _timers = new WatchTimer[16];

    public int Count;

    /// <summary>The earliest timer. Only valid while there are any.</summary>
    public WatchTimer First => _timers[0];

    /// <summary>Whether one more fits without memory.</summary>
    public bool HasRoom => Count < _timers.Length;

    /// <summary>Moves a timer to the position of its due time, or inserts it.</summary>
    public void Set(WatchTimer timer)
    {
        if (timer.Index < 0)
        {
            if (Count == _timers.Length)
            {
                Array.Resize(ref _timers, Count * 2);
            }

            timer.Index = Count++;
        }

        Settle(timer, timer.Index);
    }

    public void Remove(WatchTimer timer)
    {
        int index = timer.Index;
        if (index < 0)
        {
            return;
        }

        timer.Index = -1;
        WatchTimer last = _timers[--Count];
        _timers[Count] = null!;
        if (last != timer)
        {
            Settle(last, index);
        }
    }

    // Up or down, depending on its due time.
    private void Settle(WatchTimer timer, int index)
    {
        while (index > 0)
        {
            int parent = (index - 1) / 2;
            if (_timers[parent].Due <= timer.Due)
            {
                break;
            }

            Put(_timers[parent], index);
            index = parent;
        }

        while (true)
        {
            int child = (2 * index) + 1;
            if (child + 1 < Count && _timers[child + 1].Due < _timers[child].Due)
            {
                child++;
            }

            if (child >= Count || _timers[child].Due >= timer.Due)
            {
                break;
            }

            Put(_timers[child], index);
            index = child;
        }

        Put(timer, index);
    }

    private void Put(WatchTimer timer, int index)
    {
        _timers[index] = timer;
        timer.Index = index;
    }
}
