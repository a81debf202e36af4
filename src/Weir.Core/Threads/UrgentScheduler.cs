namespace Weir.Core.Threads;

/// <summary>
/// Runs tasks as <see cref="UrgentWork"/>: soon, also when no thread of the pool is free; or at once, where a task asks for that and may. For the engine's own
/// continuations; no user code runs on it.
/// </summary>
internal sealed class UrgentScheduler : TaskScheduler
{
    private UrgentScheduler()
    {
    }

    public static UrgentScheduler Instance { get; } = new();

    protected override IEnumerable<Task> GetScheduledTasks() => [];

    protected override void QueueTask(Task task)
    {
        try
        {
            UrgentWork.Queue(new Work(this, task));
        }
        catch (Exception)
        {
            // There is no memory. Better on this thread than not at all: it is no user code.
            TryExecuteTask(task);
        }
    }

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => !taskWasPreviouslyQueued && TryExecuteTask(task);

    private sealed class Work(UrgentScheduler scheduler, Task task) : IThreadPoolWorkItem
    {
        // What the task throws is its own.
        void IThreadPoolWorkItem.Execute() => scheduler.TryExecuteTask(task);
    }
}
