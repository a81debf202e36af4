using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

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
