namespace Weir.Dataflow.Tests.Probes;

/// <summary>A scheduler that takes no task.</summary>
public sealed class ThrowingScheduler : TaskScheduler
{
    protected override void QueueTask(Task task) => throw new NotSupportedException("no");

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;

    protected override IEnumerable<Task> GetScheduledTasks() => [];
}
