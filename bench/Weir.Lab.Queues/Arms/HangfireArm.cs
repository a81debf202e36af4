using Hangfire;
using Hangfire.PostgreSql;
using Hangfire.PostgreSql.Factories;

namespace Weir.Lab.Queues.Arms;

/// <summary>Hangfire on PostgreSQL: notified of new jobs, and with an invisibility timeout that is renewed while a job runs.</summary>
internal sealed class HangfireArm : IQueueArm
{
    private const int PublishingThreads = 32;

    private readonly PostgreSqlStorage _storage;
    private readonly BackgroundJobClient _client;
    private BackgroundJobServer? _server;

    public HangfireArm(QueueAddress address)
    {
        PostgreSqlStorageOptions options = new()
        {
            UseSlidingInvisibilityTimeout = true,
            InvisibilityTimeout = IQueueArm.Lease,
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
        _client.Enqueue<HangfireJob>(job => job.Handle(item));
        return Task.CompletedTask;
    }

    public Task StartAsync(Action<QueueItem> handle)
    {
        HangfireJob.Handler = handle;
        _server = new BackgroundJobServer(new BackgroundJobServerOptions { WorkerCount = IQueueArm.Consumers }, _storage);
        return Task.CompletedTask;
    }

    public Task DeleteAsync() => Task.CompletedTask;

    public ValueTask DisposeAsync()
    {
        _server?.Dispose();
        return default;
    }
}
