namespace Weir.Explore.Model;

/// <summary>The scheduler of tasks in place of the default one. Without a schedule it does nothing: what still comes then is of one that is over.</summary>
internal sealed class PoolScheduler : TaskScheduler
{
    /// <summary>The state of a task that is no more than a call when another one ends.</summary>
    public sealed record Continuation(Action Action);

    public static PoolScheduler Instance { get; } = new();

    public static TaskScheduler InPlaceOf(TaskScheduler scheduler) => scheduler == Default ? Instance : scheduler;

    protected override void QueueTask(Task task)
    {
        // On a thread that is not controlled, a continuation notes that it came, and goes no further.
        Action? run = ControlledThread.Current is null ? (task.AsyncState as Continuation)?.Action : () => Pool.QueueInside(() => Run(task));
        run?.Invoke();
    }

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) =>
        ControlledThread.Current is not null && !taskWasPreviouslyQueued && Run(task);

    private bool Run(Task task)
    {
        ControlledThread? me = ControlledThread.Current;
        if (me is not { Execution: { Races: not null } or { Conflicts: not null } })
        {
            return TryExecuteTask(task);
        }

        // The task around this one may have ended: then this is a continuation of it, at whose points others can see that.
        Task? outer = me.Runs;
        Release(outer);
        if (task.AsyncState is not Continuation)
        {
            Order.Platform();
            me.Runs = task;
        }

        bool hasRun = TryExecuteTask(task);
        if (task.AsyncState is not Continuation)
        {
            Order.Unordered();
        }

        Release(me.Runs);
        me.Runs = outer;
        return hasRun;
    }

    private static void Release(Task? task)
    {
        // One with children may end later, as the last of these does.
        if (task is not null && (ControlledThread.Current!.Execution.Races is not null || task.IsCompleted))
        {
            Order.Release(task);
        }
    }

    protected override IEnumerable<Task> GetScheduledTasks() => [];
}
