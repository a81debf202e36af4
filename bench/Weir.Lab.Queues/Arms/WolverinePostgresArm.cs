using Wolverine;
using Wolverine.Postgresql;

namespace Weir.Lab.Queues.Arms;

/// <summary>
/// Wolverine on PostgreSQL: the durable inbox and outbox, notified of new messages, and polling often beside that, because a poll brings the next batch.
/// </summary>
internal sealed class WolverinePostgresArm : IQueueArm
{
    private const string Schema = "wolverine";
    private const string Queue = "items";

    private static readonly TimeSpan Poll = TimeSpan.FromMilliseconds(50);

    private readonly WolverineHosts _hosts;

    public WolverinePostgresArm(QueueAddress address)
    {
        void Connect(WolverineOptions options) =>
            options.UsePostgresqlPersistenceAndTransport(address.Server, Schema).EnableQueueNotifications().AutoProvision();

        _hosts = new WolverineHosts(
            options =>
            {
                Connect(options);
                options.PublishMessage<QueueItem>().ToPostgresqlQueue(Queue).UseDurableOutbox();
            },
            options =>
            {
                Connect(options);
                options.ListenToPostgresqlQueue(Queue)
                    .UseDurableInbox()
                    .PollingInterval(Poll)
                    .MaximumMessagesToReceive(100)
                    .MaximumParallelMessages(address.Consumers);
            });
    }

    public Task OpenAsync() => _hosts.OpenAsync();

    public Task PublishAsync(QueueItem item) => _hosts.PublishAsync(item);

    public Task StartAsync(Func<QueueItem, Task> handle) => _hosts.StartAsync(handle);

    public Task DeleteAsync() => Task.CompletedTask;

    public ValueTask DisposeAsync() => _hosts.DisposeAsync();
}
