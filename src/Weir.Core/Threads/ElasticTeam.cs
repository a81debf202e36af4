namespace Weir.Core.Threads;

/// <summary>
/// Threads of one owner. They start when there is work for them, up to a maximum, and end when there has been no work for a while. A thread
/// that is stuck in an abandoned call, or that died, no longer counts.
/// </summary>
internal sealed class ElasticTeam(int most, string name) : IDisposable
{
    /// <summary>How long a thread waits for work before it ends, in milliseconds.</summary>
    private const int Patience = 5_000;

    [ThreadStatic]
    private static Host? _current;

    private readonly object _gate = new();
    private readonly Queue<IThreadPoolWorkItem> _line = new();
    private int _threads;
    private int _waiting;
    private int _started;
    private long _replaced;
    private bool _closed;

    /// <summary>Whether the current thread is one of any team.</summary>
    public static bool IsAnyCurrent => _current is not null;

    public object? CurrentHost => _current?.Team == this ? _current : null;

    /// <summary>How many threads were abandoned because they were stuck or died.</summary>
    public long Replaced => Interlocked.Read(ref _replaced);

    public void Queue(IThreadPoolWorkItem worker)
    {
        bool start;
        using (LockHold.HoldMonitor(_gate))
        {
            if (_closed)
            {
                start = false;
            }
            else
            {
                _line.Enqueue(worker);
                worker = null!;
                start = AddThreadNeedsLock();
                if (!start && _waiting > 0)
                {
                    Monitor.Pulse(_gate);
                }
            }
        }

        if (start)
        {
            StartHost();
        }
        else if (worker is not null)
        {
            // The late end of an abandoned call, which must be observed.
            ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: false);
        }
    }

    public void ReplaceHost(object host)
    {
        var stuck = (Host)host;
        bool start;
        using (LockHold.HoldMonitor(_gate))
        {
            if (stuck.IsRetired)
            {
                return;
            }

            stuck.IsRetired = true;
            _threads--;
            start = !_closed && AddThreadNeedsLock();
        }

        Interlocked.Increment(ref _replaced);
        if (start)
        {
            StartHost();
        }
    }

    /// <summary>Ends the threads once the queue is empty. A thread that is stuck ends when its call returns.</summary>
    public void Dispose()
    {
        using (LockHold.HoldMonitor(_gate))
        {
            _closed = true;
            Monitor.PulseAll(_gate);
        }
    }

    /// <summary>Counts one more thread, if there is work that no waiting thread will take.</summary>
    private bool AddThreadNeedsLock()
    {
        if (_line.Count <= _waiting || _threads >= most)
        {
            return false;
        }

        _threads++;
        return true;
    }

    private void StartHost()
    {
        var host = new Host(this);
        var thread = new Thread(static host => ((Host)host!).Team.RunHost((Host)host), 0)
        {
            IsBackground = true,
            Name = $"{name} {Interlocked.Increment(ref _started)}",
        };
        thread.UnsafeStart(host);
    }

    private void RunHost(Host host)
    {
        _current = host;
        try
        {
            while (Take(host) is { } worker)
            {
                worker.Execute();
            }
        }
        catch (ThreadInterruptedException)
        {
            // User code interrupted the thread. The interrupt takes effect in Take, where no item is lost.
            ReplaceHost(host);
        }
    }

    /// <exception cref="ThreadInterruptedException">The thread was interrupted, by the work it ran last or from elsewhere.</exception>
    private IThreadPoolWorkItem? Take(Host host)
    {
        // A wait of zero length. An interrupt must end the thread here, before it has taken the next worker.
        Thread.CurrentThread.Join(0);
        using (LockHold.HoldMonitor(_gate))
        {
            bool hasWaited = false;
            while (!host.IsRetired)
            {
                if (_line.TryDequeue(out IThreadPoolWorkItem? worker))
                {
                    return worker;
                }

                if (_closed || hasWaited)
                {
                    host.IsRetired = true;
                    _threads--;
                    break;
                }

                _waiting++;
                try
                {
                    hasWaited = !Monitor.Wait(_gate, Patience);
                }
                finally
                {
                    _waiting--;
                }
            }

            return null;
        }
    }

    /// <summary>One thread of the team.</summary>
    private sealed class Host(ElasticTeam team)
    {
        public ElasticTeam Team => team;

        /// <summary>Whether the thread no longer counts. Guarded by the team's gate.</summary>
        public bool IsRetired { get; set; }
    }
}
