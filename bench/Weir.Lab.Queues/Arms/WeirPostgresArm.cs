using Npgsql;
using Weir.Delivery;
using Weir.PostgreSql;

namespace Weir.Lab.Queues.Arms;

/// <summary>Weir on PostgreSQL, with its default options.</summary>
internal sealed class WeirPostgresArm : IQueueArm
{
    private readonly int _consumers;
    private readonly NpgsqlDataSource _database;
    private readonly PostgresWorkQueue<QueueItem> _queue;
    private WeirWorker? _worker;

    public WeirPostgresArm(QueueAddress address)
    {
        _consumers = address.Consumers;
        _database = NpgsqlDataSource.Create(address.Server);
        _queue = new(_database, address.Queue, WeirWorker.Serializer, new PostgresWorkQueueOptions { LeaseDuration = IQueueArm.Lease });
    }

    public Task OpenAsync() => _queue.SetupAsync();

    public async Task PublishAsync(QueueItem item) => await _queue.EnqueueAsync([WorkItem.Create(item)]);

    public async Task StartAsync(Func<QueueItem, Task> handle) => _worker = await WeirWorker.StartAsync(_queue, _consumers, handle);

    public Task DeleteAsync() => Task.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        if (_worker is not null)
        {
            await _worker.DisposeAsync();
        }

        await _queue.DisposeAsync();
        await _database.DisposeAsync();
    }
}
