using Quartz;

namespace Weir.Lab.Queues.Arms;

/// <summary>
/// Quartz with its store in PostgreSQL: a trigger that fires once for each item, and jobs that are recovered when their scheduler has died. A batch of triggers
/// is as large as its pool of threads, which is its default on a database.
/// </summary>
internal sealed class QuartzArm(QueueAddress address) : IQueueArm
{
    // Without recovery, what was running when a process died would be gone.
    private static readonly OneOffJobOptions Recovered = new() { RequestRecovery = true };

    private IScheduler? _scheduler;

    public async Task OpenAsync() => _scheduler ??= await QuartzSchedulerBuilder.Create(quartz =>
    {
        quartz.UseDefaultThreadPool(address.Consumers);
        quartz.UsePersistentStore(store => store.UsePostgres(address.Server).ProvisionSchema());
    }).BuildScheduler(CancellationToken.None);

    public async Task PublishAsync(QueueItem item) => await _scheduler!.ScheduleJob<QuartzJob, QueueItem>(item, TimeSpan.Zero, Recovered);

    public async Task StartAsync(Func<QueueItem, Task> handle)
    {
        QuartzJob.Handler = handle;
        await OpenAsync();
        await _scheduler!.Start();
    }

    public Task DeleteAsync() => Task.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        if (_scheduler is not null)
        {
            await _scheduler.Shutdown(waitForJobsToComplete: true);
        }
    }
}
