namespace Weir.Core.Threads;

/// <summary>
/// Runs tasks as <see cref="UrgentWork"/>: soon, also when no thread of the pool is free. For the engine's own continuations; no user code runs on it.
/// </summary>
internal sealed class UrgentScheduler : TaskScheduler
{
    private UrgentScheduler()
    {
    }

    public static UrgentScheduler Instance { get; } = new();

    protected override IEnumerable<Task> GetScheduledTasks() => [];

    protected override void QueueTask(Task task) => UrgentWork.Queue(new Work(this, task));

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;

    private sealed class Work(UrgentScheduler scheduler, Task task) : IThreadPoolWorkItem
    {
        void IThreadPoolWorkItem.Execute() => scheduler.TryExecuteTask(task);
    }
}
