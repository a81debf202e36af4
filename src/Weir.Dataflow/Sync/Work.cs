using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Sync;

/// <summary>How blocks get a thread, and what is left to do when a lock is released.</summary>
internal static class Work
{
    /// <summary>The context in which the pool begins each work item. Threads that find none at the same time write the same one, which never changes.</summary>
    private static ExecutionContext? PoolContext;

    private static readonly Action<object?> Execute = static state => ((IThreadPoolWorkItem)state!).Execute();

    /// <summary>Whether a work item, at its beginning, is in this context already, so that nothing has to be changed and restored.</summary>
    /// <param name="context">What was captured when the item was queued.</param>
    /// <param name="scheduler">The scheduler it was queued to.</param>
    public static bool IsIn(ExecutionContext? context, TaskScheduler scheduler) =>
        context is null || (scheduler == TaskScheduler.Default && context == (PoolContext ??= ExecutionContext.Capture()));

    /// <summary>Whether a context is known to be the one in which the pool begins each work item. That one holds nothing of anybody's.</summary>
    public static bool IsPoolContext(ExecutionContext? context) => context is null || context == PoolContext;

    /// <summary>Queues to the pool, or as a task to the block's scheduler.</summary>
    /// <param name="item">What to do.</param>
    /// <param name="scheduler">The block's scheduler.</param>
    /// <param name="again">Whether it continues a work item that has given its thread to others.</param>
    /// <param name="preferLocal">Whether this thread, if it is the pool's, should do it next.</param>
    /// <exception cref="TaskSchedulerException">The scheduler threw.</exception>
    public static void Queue(IThreadPoolWorkItem item, TaskScheduler scheduler, bool again = false, bool preferLocal = false)
    {
        if (scheduler == TaskScheduler.Default)
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal);
            return;
        }

        TaskCreationOptions options = again
            ? TaskCreationOptions.DenyChildAttach | TaskCreationOptions.PreferFairness
            : TaskCreationOptions.DenyChildAttach;
        new Task(Execute, item, options).Start(scheduler);
    }
}

/// <summary>Work that a locked region leaves to be done once no lock is held, because it may call the user's code or other blocks.</summary>
internal interface IAfterLock
{
    void AfterLock();
}

/// <summary>The work that the steps of one locked region leave, however much it is, in the order of the steps.</summary>
internal struct AfterLocks
{
    private IAfterLock? _first;
    private List<IAfterLock>? _more;

    /// <summary>Makes sure that the next <see cref="Add"/> cannot fail, because by then its step cannot be undone.</summary>
    public void Reserve()
    {
        if (_first is not null)
        {
            List<IAfterLock> more = _more ??= [];
            more.EnsureCapacity(more.Count + 1);
        }
    }

    public void Add(IAfterLock? after)
    {
        if (after is null)
        {
            return;
        }

        if (_first is null)
        {
            _first = after;
        }
        else
        {
            (_more ??= []).Add(after);
        }
    }

    public readonly void Run()
    {
        if (_more is null)
        {
            _first?.AfterLock();
            return;
        }

        bool stored = Do(_first!);
        foreach (IAfterLock after in _more)
        {
            stored &= Do(after);
        }

        if (!stored)
        {
            NoMemory.Instance.AfterLock();
        }
    }

    /// <summary>Does it, unless it is to tell that something was not stored: that comes after the work for what was stored.</summary>
    private static bool Do(IAfterLock after)
    {
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return false;
        }

        after.AfterLock();
        return true;
    }
}

/// <summary>Two pieces of work, of which the second is done even if the first fails.</summary>
internal sealed class AfterBoth(IAfterLock first, IAfterLock second) : IAfterLock
{
    public void AfterLock()
    {
        try
        {
            first.AfterLock();
        }
        finally
        {
            second.AfterLock();
        }
    }
}

/// <summary>
/// What a locked region leaves when there was no memory to store a message: nothing was stored, and the sender gets the exception once no lock is held. So
/// nothing throws under a lock, and to enter and exit needs no exception handler, which would cost each message something.
/// </summary>
internal sealed class NoMemory : IAfterLock
{
    public static readonly NoMemory Instance = new();

    private NoMemory()
    {
    }

    /// <summary>What the sender gets, or the block fails with if nobody waits for an answer.</summary>
    public static Exception Exception() => new InsufficientMemoryException("There is no memory to store a message.");

    public void AfterLock() => throw Exception();
}
