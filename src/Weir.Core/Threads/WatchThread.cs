using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Core.Threads;

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
            if (!timer.IsDisposed && timer.Place < 0 && _timers.HasRoom)
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
