using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace Weir.Core.Threads;

/// <summary>
/// Work that has to start soon: after a time limit, at the end of a run, or while the calls of a run block. It is queued to the thread pool like all work. If
/// no pool thread has taken it in time, a spare thread does.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The timer ends when the work begins.")]
internal sealed class UrgentWork : IThreadPoolWorkItem
{
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(5);

    private readonly WatchTimer _timer;
    private IThreadPoolWorkItem? _work;
    private int _begun;

    private UrgentWork(IThreadPoolWorkItem work)
    {
        _work = work;
        _timer = new WatchTimer(static work => ((UrgentWork)work!).MoveToSpare(), this);
    }

    public static void Queue(IThreadPoolWorkItem work) => Queue(work, Patience);

    /// <summary>Queues work.</summary>
    /// <param name="work">The work.</param>
    /// <param name="patience">How long it waits for a thread of the pool.</param>
    public static void Queue(IThreadPoolWorkItem work, TimeSpan patience)
    {
        UrgentWork urgent = new(work);
        urgent._timer.Change(patience, Timeout.InfiniteTimeSpan);
        ThreadPool.UnsafeQueueUserWorkItem(urgent, preferLocal: false);
    }

    void IThreadPoolWorkItem.Execute()
    {
        if (Interlocked.Exchange(ref _begun, 1) == 0)
        {
            _timer.Dispose();
            _work!.Execute();
        }
    }

    private void MoveToSpare()
    {
        if (Interlocked.Exchange(ref _begun, 1) == 0)
        {
            try
            {
                SpareThreads.Queue(_work!);

                // This stays in the pool's queue until a thread of the pool is free, and would hold a run that has ended.
                _work = null;
            }
            catch (Exception)
            {
                // There is no memory. The pool may still take it; else the timer fires again.
                Volatile.Write(ref _begun, 0);
                throw;
            }
        }
    }
}

/// <summary>
/// Threads of one owner. They start when there is work for them, up to a maximum, and end when there has been no work for a while, unless the team keeps them.
/// A thread that is stuck in an abandoned call, or that died, no longer counts.
/// </summary>
internal sealed class ElasticTeam : IDisposable
{
    /// <summary>How long a thread waits for work before it ends, in milliseconds.</summary>
    private const int Patience = 5_000;

    [ThreadStatic]
    private static Host? _current;

    private readonly object _lock = new();
    private readonly Queue<IThreadPoolWorkItem> _line = new();
    private readonly int _most;
    private readonly string _name;
    private readonly bool _keeps;
    private readonly Action<Thread, object> _start;
    private int _threads;
    private int _waiting;
    private int _started;
    private long _replaced;
    private bool _closed;

    /// <summary>Creates the team.</summary>
    /// <param name="most">How many threads there may be.</param>
    /// <param name="name">The beginning of their names.</param>
    /// <param name="keeps">Whether all of them start now, none ends for lack of work, and each that is lost is replaced at once.</param>
    /// <param name="start">Starts a thread; for tests, in which there may be no memory for one.</param>
    public ElasticTeam(int most, string name, bool keeps = false, Action<Thread, object>? start = null)
    {
        _most = most;
        _name = name;
        _keeps = keeps;
        _start = start ?? (static (thread, host) => thread.UnsafeStart(host));
        if (keeps)
        {
            _threads = most;
            for (int i = 0; i < most; i++)
            {
                StartHost();
            }
        }
    }

    /// <summary>Whether the current thread is one of any team.</summary>
    public static bool IsAnyCurrent => _current is not null;

    public object? CurrentHost => _current?.Team == this ? _current : null;

    /// <summary>How many threads were abandoned because they were stuck or died.</summary>
    public long Replaced => Interlocked.Read(ref _replaced);

    public void Queue(IThreadPoolWorkItem worker)
    {
        bool start;
        lock (_lock)
        {
            if (_closed)
            {
                start = false;
            }
            else
            {
                _line.Enqueue(worker);
                worker = null!;
                start = AddThreadNeedsLock(isNeeded: _line.Count > _waiting);
                if (!start && _waiting > 0)
                {
                    Monitor.Pulse(_lock);
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
        lock (_lock)
        {
            // One that waits for work has come back meanwhile. Retired, it would be woken for the next work and leave without it.
            if (stuck.IsRetired || stuck.IsWaiting)
            {
                return;
            }

            stuck.IsRetired = true;
            _threads--;
            Interlocked.Increment(ref _replaced);
            if (_closed || !AddThreadNeedsLock(isNeeded: _keeps || _line.Count > _waiting))
            {
                return;
            }
        }

        StartHost();
    }

    /// <summary>Ends the threads once the queue is empty. A thread that is stuck ends when its call returns.</summary>
    public void Dispose()
    {
        lock (_lock)
        {
            _closed = true;
            Monitor.PulseAll(_lock);
        }
    }

    /// <summary>Counts one more thread, unless there are as many as there may be. It is needed if there is work that no waiting thread will take.</summary>
    private bool AddThreadNeedsLock(bool isNeeded)
    {
        if (!isNeeded || _threads >= _most)
        {
            return false;
        }

        _threads++;
        return true;
    }

    /// <summary>
    /// Starts a thread that is already counted. If there is no memory for it, the threads that there are take its work, and the thread pool does if there are
    /// none. The next work tries again.
    /// </summary>
    private void StartHost()
    {
        try
        {
            var host = new Host(this);
            var thread = new Thread(static host => ((Host)host!).Team.RunHost((Host)host), 0)
            {
                IsBackground = true,
                Name = $"{_name} {Interlocked.Increment(ref _started)}",
            };
            _start(thread, host);
        }
        catch (Exception)
        {
            // The platform reports it in several ways.
            lock (_lock)
            {
                _threads--;
            }

            while (TakeWithoutThreads() is { } worker)
            {
                ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: false);
            }
        }
    }

    private IThreadPoolWorkItem? TakeWithoutThreads()
    {
        lock (_lock)
        {
            return _threads == 0 && _line.TryDequeue(out IThreadPoolWorkItem? worker) ? worker : null;
        }
    }

    private void RunHost(Host host)
    {
        _current = host;
        try
        {
            while (RunNext(host))
            {
            }
        }
        catch (ThreadInterruptedException)
        {
            // User code interrupted the thread. The interrupt takes effect in Take, where no item is lost.
            ReplaceHost(host);
        }
    }

    // Separate: a thread stays in its loop for long, and what a local of that method held would be kept while the thread waits, with the whole run.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool RunNext(Host host)
    {
        if (Take(host) is not { } worker)
        {
            return false;
        }

        Execute(worker);
        return true;
    }

    private static void Execute(IThreadPoolWorkItem worker)
    {
        try
        {
            worker.Execute();
        }
        catch (Exception e) when (e is not ThreadInterruptedException)
        {
            Unattended.TryReport(worker, e);
        }
    }

    /// <exception cref="ThreadInterruptedException">The thread was interrupted, by the work it ran last or from elsewhere.</exception>
    private IThreadPoolWorkItem? Take(Host host)
    {
        // A wait of zero length. An interrupt must end the thread here, before it has taken the next worker.
        Thread.CurrentThread.Join(0);
        lock (_lock)
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
                host.IsWaiting = true;
                try
                {
                    hasWaited = !Monitor.Wait(_lock, _keeps ? Timeout.Infinite : Patience);
                }
                finally
                {
                    host.IsWaiting = false;
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

        /// <summary>Whether the thread no longer counts. Guarded by the team's lock.</summary>
        public bool IsRetired { get; set; }

        /// <summary>Whether it waits for work. Guarded by the team's lock.</summary>
        public bool IsWaiting { get; set; }
    }
}

/// <summary>
/// Threads for work that must continue although the thread pool has none free, because the pool's threads are stuck in abandoned items or in other code.
/// </summary>
internal static class SpareThreads
{
    // As many as are stuck: each was requested because an item that holds a thread had to be abandoned.
    private static readonly ElasticTeam Team = new(int.MaxValue, "Weir spare");

    /// <summary>Whether the current thread is a spare thread.</summary>
    public static bool IsCurrent => ElasticTeam.IsAnyCurrent && Team.CurrentHost is not null;

    public static void Queue(IThreadPoolWorkItem work) => Team.Queue(work);
}

/// <summary>
/// Runs tasks as <see cref="UrgentWork"/>: soon, also when no thread of the pool is free; or at once, where a task asks for that and may. For the engine's own
/// continuations; no user code runs on it.
/// </summary>
internal sealed class UrgentScheduler : TaskScheduler
{
    private UrgentScheduler()
    {
    }

    public static UrgentScheduler Instance { get; } = new();

    protected override IEnumerable<Task> GetScheduledTasks() => [];

    protected override void QueueTask(Task task)
    {
        try
        {
            UrgentWork.Queue(new Work(this, task));
        }
        catch (Exception)
        {
            // There is no memory. Better on this thread than not at all: it is no user code.
            TryExecuteTask(task);
        }
    }

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => !taskWasPreviouslyQueued && TryExecuteTask(task);

    private sealed class Work(UrgentScheduler scheduler, Task task) : IThreadPoolWorkItem
    {
        // What the task throws is its own.
        void IThreadPoolWorkItem.Execute() => scheduler.TryExecuteTask(task);
    }
}
