using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>What tests of queues on the real server share: each has a schema of its own.</summary>
public abstract class QueueTest(PostgresServer server)
{
    protected const int Limit = 120_000;

    /// <summary>Leases that do not end by themselves while a test runs, however slow the machine is.</summary>
    protected static readonly TimeSpan LongLease = TimeSpan.FromHours(10);

    protected PostgresServer Server { get; } = server!;

    protected NpgsqlDataSource Source { get; } = server?.Source!;

    protected string Schema { get; } = server!.NewSchema();

    protected string Items => $"{SqlName.Quote(Schema)}.{SqlName.Quote("queue_work")}";

    /// <summary>The items that were enqueued together; a queue that keeps the order of keys has no such table.</summary>
    protected string Packs => $"{SqlName.Quote(Schema)}.{SqlName.Quote("packs_work")}";

    protected string Consumers => $"{SqlName.Quote(Schema)}.consumers";

    protected PostgresWorkQueueOptions Options => new() { Schema = Schema, LeaseDuration = LongLease };

    protected PostgresWorkQueue<string> Queue(Func<PostgresWorkQueueOptions, PostgresWorkQueueOptions>? change = null) =>
        new(Source, "work", WorkSerializer.Text, change is null ? Options : change(Options));

    protected async Task<PostgresWorkQueue<string>> NewQueueAsync(Func<PostgresWorkQueueOptions, PostgresWorkQueueOptions>? change = null)
    {
        PostgresWorkQueue<string> queue = Queue(change);
        await queue.SetupAsync();
        return queue;
    }

    protected static IReadOnlyList<WorkItem<string>> Values(int count, Func<int, string?>? keyOf = null) =>
        [.. Enumerable.Range(0, count).Select(i => new WorkItem<string>(new WorkId("values", i), $"{i}", keyOf?.Invoke(i)))];

    protected Task<int> ExecuteAsync(string statements) => Source.ExecuteAsync(statements);

    protected Task<T> ScalarAsync<T>(string statement) => Source.ScalarAsync<T>(statement);

    protected async Task<long> CountAsync() => await ScalarAsync<long>($"SELECT count(*) FROM {Items}") + await CountPackedAsync();

    protected async Task<long> CountPackedAsync() =>
        await ScalarAsync<bool>($"SELECT to_regclass({SqlName.Literal(Packs)}) IS NOT NULL")
            ? await ScalarAsync<long>($"SELECT coalesce(sum(size), 0) FROM {Packs}")
            : 0;

    protected static async Task<(long Waiting, long InFlight)> StateAsync(PostgresWorkQueue<string> queue)
    {
        WorkStatistics now = await queue.GetStatisticsAsync();
        return (now.Waiting!.Value, now.InFlight!.Value);
    }

    /// <summary>What happens when a process has disappeared and its time is up.</summary>
    protected Task EndLeasesAsync() => ExecuteAsync($"UPDATE {Consumers} SET lease_until = now() - interval '1 minute'");

    protected static async Task<WorkBatch<string>> NextAsync(IWorkSource<string> source) =>
        (await source.ReadAsync(CancellationToken.None).WithinAsync("the next batch"))!;

    protected static string[] ValuesOf(WorkBatch<string> batch) => [.. batch.Items.Select(static i => i.Value)];
}
