using System.Collections.Concurrent;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Connections that are cut and servers that are killed: nothing is lost.</summary>
public sealed class FaultTests(PostgresServer server) : QueueTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Hosts_ConnectionsAreCut_LoseNothing()
    {
        const int Count = 2000;
        string name = $"weir-test-{Guid.NewGuid():N}";
        await using NpgsqlDataSource cut = NpgsqlDataSource.Create(ConnectionString(b => b.ApplicationName = name));
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemsPerBatch = 20 });
        var victim = new PostgresWorkQueue<string>(cut, "work", WorkSerializer.Text, queue.Options);
        var done = new ConcurrentDictionary<string, int>();
        using var stop = new CancellationTokenSource();
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await victim.OpenSourceAsync();
        Task[] hosts = [RunHostAsync(queue, first, done, stop.Token), RunHostAsync(victim, second, done, stop.Token)];
        int published = 0;
        foreach (WorkItem<string>[] part in Values(Count).Chunk(200))
        {
            await queue.EnqueueAsync(part);
            published += part.Length;
            int half = published - (part.Length / 2);
            await Guard.UntilAsync(() => done.Count >= half, "Half of what was published");
            await ScalarAsync<long>($"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{name}'");
        }

        await Guard.UntilAsync(() => done.Count == Count, "Everything done");
        await stop.CancelAsync();
        await Task.WhenAll(hosts).WithinAsync("the hosts");
    }

    [Fact(Timeout = Limit)]
    public async Task Host_ServerIsKilledAndStartedAgain_LosesNothing()
    {
        const int Count = 300;
        string folder = Path.Combine(Path.GetTempPath(), $"weir-pg-{Guid.NewGuid():N}");
        try
        {
            (int code, string output, string error) = await ServersScript.UpAsync(folder, SharedServers.Postgres);
            Assert.SkipWhen(code != 0, $"No second server can be started here: {error}");
            await using NpgsqlDataSource own = NpgsqlDataSource.Create(ServersScript.Connection(output, SharedServers.PostgresVariable)!);
            var queue = new PostgresWorkQueue<string>(own, "work", WorkSerializer.Text, Options with { MaxItemsPerBatch = 10 });
            await queue.SetupAsync();
            await queue.EnqueueAsync(Values(Count));
            var done = new ConcurrentDictionary<string, int>();
            using var stop = new CancellationTokenSource();
            var killed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            Task host = RunHostAsync(queue, source, done, stop.Token, () => done.Count < Count / 2 ? Task.CompletedTask : killed.Task);
            await Guard.UntilAsync(() => done.Count >= Count / 2, "Half of it done");
            Assert.Equal(0, (await ServersScript.RunAsync(folder, "kill", "postgres")).Code);
            killed.SetResult();
            Assert.Equal(0, (await ServersScript.UpAsync(folder, SharedServers.Postgres)).Code);
            await Guard.UntilAsync(() => done.Count == Count, "Everything done");
            await stop.CancelAsync();
            await host.WithinAsync("the host");
        }
        finally
        {
            await ServersScript.RunAsync(folder, "down");
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Names_AndExceptions_HaveNoPassword()
    {
        await using NpgsqlDataSource wrong = NpgsqlDataSource.Create(ConnectionString(static b => b.Password = "sesame-7"));
        await using var queue = new PostgresWorkQueue<string>(wrong, "work", WorkSerializer.Text, Options);
        WorkSetupException refused = await Assert.ThrowsAsync<WorkSetupException>(() => queue.SetupAsync());
        Assert.DoesNotContain("sesame-7", refused.ToString(), StringComparison.Ordinal);
        await using NpgsqlDataSource nowhere = NpgsqlDataSource.Create(ConnectionString(static b => (b.Password, b.Port) = ("sesame-7", 1)));
        await using var away = new PostgresWorkQueue<string>(nowhere, "work", WorkSerializer.Text, Options);
        Exception failed = await Assert.ThrowsAnyAsync<NpgsqlException>(async () => await away.OpenSourceAsync());
        Assert.DoesNotContain("sesame-7", failed.ToString(), StringComparison.Ordinal);
    }

    private static async Task RunHostAsync(
        PostgresWorkQueue<string> queue,
        IWorkSource<string> source,
        ConcurrentDictionary<string, int> done,
        CancellationToken stop,
        Func<Task>? before = null)
    {
        await using var runtime = new ConcurrentRuntime(4);
        var host = new WorkHost<string>(
            source,
            runtime,
            async (item, token) =>
            {
                await (before?.Invoke() ?? Task.CompletedTask).WaitAsync(token);
                done.AddOrUpdate(item.Value, 1, static (_, n) => n + 1);
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text, MaxItemsInFlight = 60 });
        await host.RunAsync(stop);
    }

    private string ConnectionString(Action<NpgsqlConnectionStringBuilder> change)
    {
        // The data source keeps its password to itself.
        var builder = new NpgsqlConnectionStringBuilder(Server.ConnectionString);
        change(builder);
        return builder.ToString();
    }
}
