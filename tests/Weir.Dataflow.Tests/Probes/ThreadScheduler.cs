namespace Weir.Dataflow.Tests.Probes;

/// <summary>A thread for each task, so that as many block at once as there are.</summary>
public sealed class ThreadScheduler : TaskScheduler
{
    protected override void QueueTask(Task task) => new Thread(() => TryExecuteTask(task)) { IsBackground = true }.Start();

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;

    protected override IEnumerable<Task> GetScheduledTasks() => [];
}
