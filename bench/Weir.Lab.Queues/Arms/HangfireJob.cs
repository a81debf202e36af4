namespace Weir.Lab.Queues.Arms;

/// <summary>The job that Hangfire calls.</summary>
public sealed class HangfireJob
{
    internal static Func<QueueItem, Task> Handler { get; set; } = static _ => Task.CompletedTask;

    /// <summary>Handles an item.</summary>
#pragma warning disable CA1822 // Hangfire makes an instance for each job, as for any job with dependencies.
    public Task HandleAsync(QueueItem item) => Handler(item);
#pragma warning restore CA1822
}
