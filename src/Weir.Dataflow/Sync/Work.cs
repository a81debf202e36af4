using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Sync;

/// <summary>How blocks get a thread.</summary>
internal static class Work
{
    /// <summary>The context in which the pool begins each work item. Threads that find none at the same time write the same one, which never changes.</summary>
    private static ExecutionContext? PoolContext;

    private static readonly Action<object?> Execute = static state => ((IThreadPoolWorkItem)state!).Execute();

    /// <summary>Whether a work item, at its beginning, is in this context already: then nothing has to be changed and put back.</summary>
    /// <param name="context">What was captured when the item was queued.</param>
    /// <param name="scheduler">The scheduler it was queued to.</param>
    public static bool IsIn(ExecutionContext? context, TaskScheduler scheduler) =>
        context is null || (scheduler == TaskScheduler.Default && context == (PoolContext ??= ExecutionContext.Capture()));

    /// <summary>Whether a context is the one in which the pool begins each work item, as far as that is known: then it holds nothing of anybody's.</summary>
    public static bool IsPoolContext(ExecutionContext? context) => context is null || context == PoolContext;

    /// <summary>Queues to the pool, or as a task to the block's scheduler.</summary>
    /// <param name="item">What to do.</param>
    /// <param name="scheduler">The block's scheduler.</param>
    /// <param name="again">Whether it continues a work item that has made room for others.</param>
    /// <param name="here">Whether this thread, if it is the pool's, is best placed to do it next.</param>
    /// <exception cref="TaskSchedulerException">The scheduler threw.</exception>
    public static void Queue(IThreadPoolWorkItem item, TaskScheduler scheduler, bool again = false, bool here = false)
    {
        if (scheduler == TaskScheduler.Default)
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: here);
            return;
        }

        TaskCreationOptions options = again
            ? TaskCreationOptions.DenyChildAttach | TaskCreationOptions.PreferFairness
            : TaskCreationOptions.DenyChildAttach;
        new Task(Execute, item, options).Start(scheduler);
    }
}
