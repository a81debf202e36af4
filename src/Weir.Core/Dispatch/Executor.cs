namespace Weir.Core.Dispatch;

/// <summary>The threads that run workers: the thread pool, or threads of one's own.</summary>
internal abstract class Executor
{
    /// <summary>How many workers with synchronous work are worth running at once.</summary>
    public abstract int Threads { get; }

    /// <summary>Whether a worker that resumes on the current thread may go on there.</summary>
    public abstract bool MayRunHere { get; }

    /// <summary>How long a worker may keep a thread for synchronous work before others get their turn, in Stopwatch ticks.</summary>
    public abstract long Quantum { get; }

    /// <summary>The thread that a worker now runs on, when it is one of the executor's own.</summary>
    public virtual object? CurrentHost => null;

    /// <summary>A call that was given up still holds this thread: another one takes its place.</summary>
    public virtual void ReplaceHost(object host)
    {
    }

    /// <summary>Runs a worker soon, after those queued before it.</summary>
    public abstract void Queue(IThreadPoolWorkItem worker);

    /// <summary>Runs a worker that a time limit has brought, also while all threads are stuck in calls that were given up.</summary>
    public virtual void QueueUrgently(IThreadPoolWorkItem worker) => Queue(worker);

    /// <summary>Runs a worker soon, and on this thread if no other one takes it first: its caller is likely to wait for it next, or to be busy only for a moment.</summary>
    public virtual void QueueNext(IThreadPoolWorkItem worker) => Queue(worker);
}
