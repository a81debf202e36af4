namespace Weir.Explore.Model;

/// <summary>The scheduler of tasks in place of the default one. Without a schedule it does nothing: what still comes then is of one that is over.</summary>
internal sealed class PoolScheduler : TaskScheduler
{
    public static PoolScheduler Instance { get; } = new();

    public static TaskScheduler InPlaceOf(TaskScheduler scheduler) => scheduler == Default ? Instance : scheduler;

    protected override void QueueTask(Task task) => Pool.QueueInside(() => TryExecuteTask(task));

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) =>
        ControlledThread.Current is not null && !taskWasPreviouslyQueued && TryExecuteTask(task);

    protected override IEnumerable<Task> GetScheduledTasks() => [];
}
