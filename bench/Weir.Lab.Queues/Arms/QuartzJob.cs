using Quartz;

namespace Weir.Lab.Queues.Arms;

/// <summary>The job that Quartz calls.</summary>
public sealed class QuartzJob : IJob<QueueItem>
{
    internal static Func<QueueItem, Task> Handler { get; set; } = static _ => Task.CompletedTask;

    /// <summary>Handles an item.</summary>
    public async ValueTask Execute(IJobExecutionContext context, QueueItem input, CancellationToken cancellationToken = default) => await Handler(input);
}
