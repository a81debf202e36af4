using Hangfire;
using Hangfire.PostgreSql;
using Hangfire.PostgreSql.Factories;

namespace Weir.Lab.Queues.Arms;

/// <summary>Hangfire on PostgreSQL: notified of new jobs, and with an invisibility timeout that is renewed while a job runs.</summary>
internal sealed class HangfireArm : IQueueArm
{
    private const int PublishingThreads = 32;

    private readonly int _workers;
    private readonly PostgreSqlStorage _storage;
    private readonly BackgroundJobClient _client;
    private BackgroundJobServer? _server;

    public HangfireArm(QueueAddress address)
    {
        _workers = address.Consumers;
        PostgreSqlStorageOptions options = new()
        {
            UseSlidingInvisibilityTimeout = true,
            InvisibilityTimeout = IQueueArm.Lease,
            // The lock of a job that a worker held when it died: by default, nobody gets it for 10 minutes.
            DistributedLockTimeout = IQueueArm.Lease,
            EnableLongPolling = true,
        };
        _storage = new PostgreSqlStorage(new NpgsqlConnectionFactory(address.Server, options), options);
        _client = new BackgroundJobClient(_storage);
        GlobalConfiguration.Configuration.UseSimpleAssemblyNameTypeSerializer().UseRecommendedSerializerSettings();
        // Its calls block their threads, and the pool grows slowly.
        ThreadPool.GetMinThreads(out _, out int completions);
        ThreadPool.SetMinThreads(PublishingThreads, completions);
    }

    public Task OpenAsync() => Task.CompletedTask;

    public Task PublishAsync(QueueItem item)
    {
        _client.Enqueue<HangfireJob>(job => job.HandleAsync(item));
        return Task.CompletedTask;
    }

    public Task StartAsync(Func<QueueItem, Task> handle)
    {
        HangfireJob.Handler = handle;
        _server = new BackgroundJobServer(new BackgroundJobServerOptions { WorkerCount = _workers }, _storage);
        return Task.CompletedTask;
    }

    public Task DeleteAsync() => Task.CompletedTask;

    public ValueTask DisposeAsync()
    {
        _server?.Dispose();
        return default;
    }
}
