using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Sync;

/// <summary>How blocks get a thread.</summary>
internal static class Work
{
    private static readonly Action<object?> Execute = static state => ((IThreadPoolWorkItem)state!).Execute();

    /// <summary>Queues to the pool, or as a task to the block's scheduler.</summary>
    /// <exception cref="TaskSchedulerException">The scheduler threw.</exception>
    public static void Queue(IThreadPoolWorkItem item, TaskScheduler scheduler, bool again = false)
    {
        if (scheduler == TaskScheduler.Default)
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);
            return;
        }

        TaskCreationOptions options = again
            ? TaskCreationOptions.DenyChildAttach | TaskCreationOptions.PreferFairness
            : TaskCreationOptions.DenyChildAttach;
        new Task(Execute, item, options).Start(scheduler);
    }
}
