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
