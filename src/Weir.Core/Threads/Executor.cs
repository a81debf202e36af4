using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace Weir.Core.Threads;

// The threads that run workers.
//
// User code never runs on the caller's thread, nor on a thread outside the pool that comes to complete an item; the direct runtime is the exception, by its
// nature. What a time limit or the end of a run requires is urgent work: it runs on the pool, or on a spare thread if the pool has no free thread for 5 ms. So
// does one more worker of a run whose calls block, after 50 ms: the pool alone adds one to two threads a second.

/// <summary>The threads that run workers: the thread pool, or dedicated threads.</summary>
internal abstract class Executor
{
    /// <summary>How many workers with synchronous work are worth running at once.</summary>
    public abstract int Threads { get; }

    /// <summary>Whether a worker that resumes on the current thread may continue there.</summary>
    public abstract bool CanRunOnCurrentThread { get; }

    /// <summary>Whether code that waits for a run may continue on the current thread, which was started for the run and has come to its end.</summary>
    public virtual bool CanEndOnCurrentThread => CanRunOnCurrentThread;

    /// <summary>Whether <see cref="QueueForConsumer"/> runs the worker on the current thread, before it returns. Then it does not throw.</summary>
    public virtual bool RunsForConsumerHere => false;

    /// <summary>How long a worker may keep a thread for synchronous work while others wait for one, in Stopwatch ticks.</summary>
    public abstract long Quantum { get; }

    /// <summary>Whether a worker whose calls block may keep the current thread for longer, because others that wait get a new one.</summary>
    public virtual bool MayKeepThread => false;

    /// <summary>Whether it has threads for more workers than <see cref="Threads"/> while some of these wait inside their calls.</summary>
    public virtual bool HasThreadsBeyond => false;

    /// <summary>The thread that a worker runs on, if it is one of the executor's own.</summary>
    public virtual object? CurrentHost => null;

    /// <summary>An abandoned call still holds this thread: another thread replaces it.</summary>
    public virtual void ReplaceHost(object host)
    {
    }

    /// <summary>Runs a worker soon, after those queued before it.</summary>
    public abstract void Queue(IThreadPoolWorkItem worker);

    /// <summary>Runs a worker that a time limit requires, even while all threads are stuck in abandoned calls.</summary>
    public virtual void QueueUrgently(IThreadPoolWorkItem worker) => Queue(worker);

    /// <summary>Runs a worker of a run whose calls block: after those queued before it, but without a long wait for the threads that they hold.</summary>
    public virtual void QueueWhileBlocked(IThreadPoolWorkItem worker) => Queue(worker);

    /// <summary>Runs a worker soon, on this thread if no other takes it first: the caller is likely to wait for it next, or to be busy only briefly.</summary>
    public virtual void QueueNext(IThreadPoolWorkItem worker) => Queue(worker);

    /// <summary>Runs a worker soon, for the consumer of a stream, who is on this thread and has room again.</summary>
    public virtual void QueueForConsumer(IThreadPoolWorkItem worker) => Queue(worker);
}

/// <summary>The thread pool, and spare threads while all of its own are stuck.</summary>
internal sealed class PoolExecutor : Executor
{
    // The pool adds a thread after half a second to a second. Its own waits (Task.Wait) get one within 25 to 250 ms, and so do the calls of a run.
    private static readonly TimeSpan PatienceWhileBlocked = TimeSpan.FromMilliseconds(50);

    public static readonly PoolExecutor Instance = new();

    public override int Threads => Environment.ProcessorCount;

    // A thread that is not the pool's, or that carries a context, belongs to code that completed an item. Workers do not continue there.
    public override bool CanRunOnCurrentThread => (Thread.CurrentThread.IsThreadPoolThread || SpareThreads.IsCurrent) && SynchronizationContext.Current is null;

    public override long Quantum { get; } = System.Diagnostics.Stopwatch.Frequency / 50;

    // Those that the pool has added for other calls that blocked, which it keeps for a while.
    public override bool HasThreadsBeyond => true;

    // A worker on another thread returns to the pool as soon as it can.
    public override bool MayKeepThread => Thread.CurrentThread.IsThreadPoolThread || SpareThreads.IsCurrent;

    public override void Queue(IThreadPoolWorkItem worker)
    {
        if (!Thread.CurrentThread.IsThreadPoolThread && SpareThreads.IsCurrent)
        {
            // The pool had no free thread a moment ago. The worker returns to the pool as soon as there is one.
            UrgentWork.Queue(worker);
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: false);
        }
    }

    public override void QueueUrgently(IThreadPoolWorkItem worker) => UrgentWork.Queue(worker);

    public override void QueueWhileBlocked(IThreadPoolWorkItem worker) => UrgentWork.Queue(worker, PatienceWhileBlocked);

    // A caller on a pool thread that awaits the run returns to the pool and finds the worker first in its own queue, with warm caches. If it
    // does something else instead, another thread takes the worker from there.
    public override void QueueNext(IThreadPoolWorkItem worker) => ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: true);

    // The consumer is likely to wait soon for what the worker makes. Then this thread takes it; if not, another one does.
    public override void QueueForConsumer(IThreadPoolWorkItem worker) => ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: true);
}

/// <summary>
/// Dedicated threads, which start now and are kept unless they are to come and go with the work. Workers of all runs wait in one queue and get a slice of a
/// millisecond each, so a run of one item does not wait for a run of a million.
/// </summary>
internal sealed class ThreadTeam(int threads, string name, bool keeps = true) : Executor, IDisposable
{
    private readonly ElasticTeam _team = new(threads, name, keeps);

    public override int Threads => threads;

    // Code that completes an item on a thread of the team does so inside another item, which would have to wait for everything that follows here.
    public override bool CanRunOnCurrentThread => false;

    public override long Quantum { get; } = Stopwatch.Frequency / 1000;

    public override object? CurrentHost => _team.CurrentHost;

    /// <summary>How many threads were replaced because they were stuck or died.</summary>
    public long Replaced => _team.Replaced;

    public override void Queue(IThreadPoolWorkItem worker) => _team.Queue(worker);

    public override void ReplaceHost(object host) => _team.ReplaceHost(host);

    public void Dispose() => _team.Dispose();
}

/// <summary>
/// Threads of one owner. They start when there is work for them, up to a maximum, and end when there has been no work for a while, unless the team keeps them.
/// A thread that is stuck in an abandoned call, or that died, no longer counts.
/// </summary>
/// <remarks>
/// A thread waits on the lock for work, and is counted as waiting meanwhile; whoever queues work wakes one, or starts one if all that wait have work already.
/// Threads are counted under the lock before they start, and started without it. A thread that was replaced is retired: it takes no more work, and ends when its
/// call returns. After the team was disposed, its threads finish the queue and end, and later work goes to the thread pool.
/// </remarks>
internal sealed class ElasticTeam : IDisposable
{
    /// <summary>How long a thread waits for work before it ends, in milliseconds.</summary>
    private const int Patience = 5_000;

    [ThreadStatic]
    private static Host? _current;

    // Immutable. A monitor, because threads wait on it.
    private readonly object _lock = new();
    private readonly int _most;
    private readonly string _name;
    private readonly bool _keeps;
    private readonly Action<Thread, object> _start;

    // Under _lock.
    private readonly Queue<IThreadPoolWorkItem> _line = new();
    private int _threads;
    private int _waiting;
    private bool _closed;

    // Atomic: counters.
    private int _started;
    private long _replaced;

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
