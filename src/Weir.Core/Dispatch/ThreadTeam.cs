using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>
/// A fixed number of dedicated threads that are started once and kept. Workers of all runs wait in one queue and get a slice of a
/// millisecond each, so a run of one item does not wait for a run of a million. A thread that is stuck in an abandoned call,
/// or that died, is replaced.
/// </summary>
internal sealed class ThreadTeam : Executor, IDisposable
{
    [ThreadStatic]
    private static Host? _current;

    private readonly object _gate = new();
    private readonly Queue<IThreadPoolWorkItem> _line = new();
    private readonly string _name;
    private readonly int _threads;
    private int _started;
    private int _waiting;
    private long _replaced;
    private bool _closed;

    public ThreadTeam(int threads, string name)
    {
        _threads = threads;
        _name = name;
        for (int i = 0; i < threads; i++)
        {
            StartHost();
        }
    }

    public override int Threads => _threads;

    // Code that completes an item on a thread of the team does so inside another item, which would have to wait for everything that follows here.
    public override bool MayRunHere => false;

    public override long Quantum { get; } = Stopwatch.Frequency / 1000;

    public override object? CurrentHost => _current?.Team == this ? _current : null;

    /// <summary>How many threads were replaced because they were stuck or died.</summary>
    public long Replaced => Interlocked.Read(ref _replaced);

    public override void Queue(IThreadPoolWorkItem worker)
    {
        using (LockHold.HoldMonitor(_gate))
        {
            if (!_closed)
            {
                _line.Enqueue(worker);
                if (_waiting > 0)
                {
                    Monitor.Pulse(_gate);
                }

                return;
            }
        }

        // The late end of an abandoned call, which must be observed.
        ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: false);
    }

    public override void ReplaceHost(object host)
    {
        var stuck = (Host)host;
        using (LockHold.HoldMonitor(_gate))
        {
            if (stuck.IsRetired || _closed)
            {
                return;
            }

            stuck.IsRetired = true;
        }

        Interlocked.Increment(ref _replaced);
        StartHost();
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

    private void StartHost()
    {
        var host = new Host(this);
        var thread = new Thread(static host => ((Host)host!).Team.RunHost((Host)host), 0)
        {
            IsBackground = true,
            Name = $"{_name} {Interlocked.Increment(ref _started)}",
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
            while (true)
            {
                if (host.IsRetired)
                {
                    return null;
                }

                if (_line.TryDequeue(out IThreadPoolWorkItem? worker))
                {
                    return worker;
                }

                if (_closed)
                {
                    return null;
                }

                _waiting++;
                try
                {
                    Monitor.Wait(_gate);
                }
                finally
                {
                    _waiting--;
                }
            }
        }
    }

    /// <summary>One thread of the team.</summary>
    private sealed class Host(ThreadTeam team)
    {
        public ThreadTeam Team => team;

        /// <summary>Whether another thread has taken this one's place. Guarded by the team's gate.</summary>
        public bool IsRetired { get; set; }
    }
}
