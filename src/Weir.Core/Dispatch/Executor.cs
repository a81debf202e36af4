using System.Diagnostics;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

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
