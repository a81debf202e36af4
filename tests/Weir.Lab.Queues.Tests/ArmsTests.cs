using Npgsql;
using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Measuring;

namespace Weir.Lab.Queues.Tests;

/// <summary>On real servers, whose addresses are in WEIR_POSTGRES and WEIR_RABBITMQ: <c>eng/services up</c>.</summary>
public class ArmsTests
{
    private const int Items = 200;

    public static TheoryData<string> Names => [.. QueueArms.Names];

    [Theory(Timeout = 180_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [MemberData(nameof(Names))]
    public async Task Start_CalmRun_HandlesEachItemOnceAndNoMoreThanTwoAtATime(string name)
    {
        bool isPostgres = name.StartsWith("postgres/", StringComparison.Ordinal);
        string server = Environment.GetEnvironmentVariable(isPostgres ? "WEIR_POSTGRES" : "WEIR_RABBITMQ") ?? "";
        Assert.SkipWhen(server.Length == 0, "There is no server: eng/services up.");
        string unique = $"weir_arms_{Guid.NewGuid():N}";
        if (isPostgres)
        {
            await ExecuteAsync(server, $"CREATE DATABASE {unique} TEMPLATE template0");
        }

        QueueAddress address = isPostgres
            ? new QueueAddress(new NpgsqlConnectionStringBuilder(server) { Database = unique }.ToString(), "items")
            : new QueueAddress(server, unique);
        int inside = 0;
        int most = 0;
        Ledger ledger = new(Items, 1, TimeSpan.Zero, static () => default);
        try
        {
            await using (IQueueArm arm = QueueArms.Create(name, address))
            {
                await arm.OpenAsync();
                await Throughput.PublishAsync(arm, 0, Items);
                await arm.StartAsync(item =>
                {
                    most = Math.Max(most, Interlocked.Increment(ref inside));
                    ledger.HandleAsync(item);
                    Interlocked.Decrement(ref inside);
                    return Task.CompletedTask;
                });
                await ledger.All;
            }

            Assert.Equal(0, ledger.Doubled);
            Assert.InRange(most, 1, address.Consumers);

            // Nothing is left that comes to the next worker: the one item that it gets is new.
            TaskCompletionSource<int> came = new(TaskCreationOptions.RunContinuationsAsynchronously);
            await using (IQueueArm arm = QueueArms.Create(name, address))
            {
                await arm.OpenAsync();
                await arm.StartAsync(item =>
                {
                    came.TrySetResult(item.Number);
                    return Task.CompletedTask;
                });
                await arm.PublishAsync(QueueItem.Of(Items));
                Assert.Equal(Items, await came.Task);
            }
        }
        finally
        {
            if (isPostgres)
            {
                NpgsqlConnection.ClearAllPools();
                await ExecuteAsync(server, $"DROP DATABASE {unique} WITH (FORCE)");
            }
            else
            {
                await using IQueueArm arm = QueueArms.Create(name, address);
                await arm.DeleteAsync();
            }
        }
    }

    private static async Task ExecuteAsync(string server, string statement)
    {
        await using NpgsqlDataSource source = NpgsqlDataSource.Create(server);
        await using NpgsqlCommand command = source.CreateCommand(statement);
        await command.ExecuteNonQueryAsync();
    }
}
