using System.Collections.Concurrent;
using System.Text.Json;
using Npgsql;
using RabbitMQ.Client;
using RabbitMQ.Client.Exceptions;
using Weir.Cli.Tests.Support;
using Weir.Delivery;
using Weir.Lab.Network;

namespace Weir.Cli.Tests.Commands.Load;

/// <summary>Runs over queues on real servers: what they report, and that nothing of them is left.</summary>
public sealed class LoadEngineServerTests(TestPostgres postgres, TestRabbit rabbit) : IClassFixture<TestPostgres>, IClassFixture<TestRabbit>
{
    private const int Limit = 120_000;
    private const string Run = "weir-audit load --engine {0} --items-per-message 1,16 --count 200 --trials 1 --json";

    [Theory(Timeout = Limit)]
    [InlineData("")]
    [InlineData("--ordered --rate 2000", Explicit = true)]
    public async Task Postgres_TwoSizes_LosesNothingAndLeavesNothing(string options)
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        CliUnderTest cli = new() { Variables = { ["WEIR_POSTGRES"] = database.Address } };
        LoadResult result = await cli.RunAsync($"{Of("postgres")} {options}");
        AssertLossless(result, "postgres", isOrdered: options.Length > 0);
        Assert.Equal(0, await CountSchemasAsync(database));
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task Postgres_Stopped_IsPartialAndLeavesNothing()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        CliUnderTest cli = new() { StopsAt = "round 1 of" };
        LoadResult result = await cli.RunAsync(
            ["weir-audit", "load", "--engine", "postgres", "--items-per-message", "16", "--count", "200", "--trials", "1000", "--connection", database.Address]);
        Assert.True(result.ExitCode == 130, result.Error);
        Assert.Equal("true", result.Value("partial"));
        Assert.Equal(0, await CountSchemasAsync(database));
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task Postgres_ConnectionInTheResult_HasNoPassword()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        LoadResult result = await new CliUnderTest().RunAsync([.. Of("postgres").Split(' '), "--connection", $"{database.Address};Application Name=seen"]);
        AssertLossless(result, "postgres", isOrdered: false);
        string connection = result.Json.GetProperty("arguments").EnumerateArray().Select(static a => a.GetString()!).Last();
        Assert.Contains("Password=***", connection, StringComparison.Ordinal);
        Assert.Contains("Application Name=seen", connection, StringComparison.Ordinal);
    }

    [Theory(Timeout = Limit)]
    [InlineData("")]
    [InlineData("--ordered", Explicit = true)]
    public async Task Rabbit_TwoSizes_LosesNothingAndLeavesNothing(string options)
    {
        string address = rabbit.Address;
        ConcurrentDictionary<string, bool> queues = [];
        CliUnderTest cli = new()
        {
            Variables = { ["WEIR_RABBITMQ"] = address },
            WrapSource = source =>
            {
                queues[source.Name] = true;
                return source;
            },
        };
        LoadResult result = await cli.RunAsync($"{Of("rabbitmq")} {options}");
        AssertLossless(result, "rabbitmq", isOrdered: options.Length > 0);
        Assert.Equal(2, queues.Count);
        string[] parts = options.Length > 0
            ? [".0", ".15", ".dead"]
            : ["", ".suspects", ".dead", ".retry.1000", ".retry.10000", ".retry.60000", ".retry.600000"];
        string settings = options.Length > 0 ? ".v1-p16-d20-m0-r" : ".v1-p0-d20-m0-r1000-10000-60000";
        foreach (string queue in queues.Keys)
        {
            Assert.StartsWith("weir_load_", queue, StringComparison.Ordinal);
            foreach (string part in parts)
            {
                await AssertGoneAsync(address, channel => channel.QueueDeclarePassiveAsync(queue + part));
            }

            await AssertGoneAsync(address, channel => channel.ExchangeDeclarePassiveAsync(queue));
            await AssertGoneAsync(address, channel => channel.ExchangeDeclarePassiveAsync(queue + settings));
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData("postgres", "Host=127.0.0.1;Port=1;Username=u;Password=sesame")]
    [InlineData("rabbitmq", "amqp://u:sesame@127.0.0.1:1/")]
    public async Task Server_DoesNotAnswer_IsSaidWithoutThePassword(string engine, string address)
    {
        LoadResult result = await new CliUnderTest().RunAsync([.. Of(engine).Split(' '), "--connection", address]);
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.Contains($"weir-audit: {engine} failed in the queue of {engine} items=1, after 0 items were done: ", result.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("sesame", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task Postgres_FailsInTheMiddle_IsSaidWithItsName()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        NpgsqlConnectionStringBuilder server = new(database.Address);
        await using FaultProxy proxy = new(server.Host!, server.Port);
        server.Host = "127.0.0.1";
        server.Port = proxy.Port;
        CliUnderTest cli = new() { WrapSource = source => new Last(source, proxy) };
        LoadResult result = await cli.RunAsync(
            ["weir-audit", "load", "--engine", "postgres", "--items-per-message", "16", "--count", "2000", "--trials", "1", "--warmup", "0",
                "--connection", server.ToString()]);
        Assert.Equal((1, ""), (result.ExitCode, result.Out));
        Assert.Matches(@"(?m)^weir-audit: postgres failed in the queue of postgres items=16, after [\d,]+ items were done: \S.*\.$", result.Error);
    }

    private static string Of(string engine) => Run.Replace("{0}", engine, StringComparison.Ordinal);

    private static Task<long> CountSchemasAsync(TestDatabase database) =>
        database.ScalarAsync<long>("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'weir%'");

    private static void AssertLossless(LoadResult result, string engine, bool isOrdered)
    {
        Assert.True(result.ExitCode == 0, result.Error);
        JsonElement[] arms = [.. result.Json.GetProperty("arms").EnumerateArray()];
        Assert.Equal([$"{engine} items=1", $"{engine} items=16"], arms.Select(static a => a.GetProperty("name").GetString()));
        foreach (JsonElement round in arms.SelectMany(static a => a.GetProperty("rounds").EnumerateArray()))
        {
            Assert.Equal(200, round.GetProperty("operations").GetInt32());
            Assert.Equal(0, round.GetProperty("lost").GetInt32());
            Assert.True(!isOrdered || round.GetProperty("out_of_order").GetInt32() == 0);
        }
    }

    private static async Task AssertGoneAsync(string address, Func<IChannel, Task> find)
    {
        // A question about what is not there ends the channel.
        await using IConnection connection = await new ConnectionFactory { Uri = new Uri(address) }.CreateConnectionAsync();
        await using IChannel channel = await connection.CreateChannelAsync();
        OperationInterruptedException refused = await Assert.ThrowsAsync<OperationInterruptedException>(() => find(channel));
        Assert.Equal(Constants.NotFound, refused.ShutdownReason!.ReplyCode);
    }

    /// <summary>Its third acknowledgement is the last thing that reaches the server.</summary>
    private sealed class Last(IWorkSource<string> inner, FaultProxy proxy) : IWorkSource<string>
    {
        private int _acknowledged;

        public string Name => inner.Name;

        public AcknowledgementOrder Order => inner.Order;

        public IRedelivery<string>? Redelivery => inner.Redelivery;

        public ValueTask<WorkBatch<string>?> ReadAsync(CancellationToken cancellationToken) => inner.ReadAsync(cancellationToken);

        public async ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<string>> batches, CancellationToken cancellationToken)
        {
            await inner.AcknowledgeAsync(batches, cancellationToken);
            if (Interlocked.Increment(ref _acknowledged) == 3)
            {
                await proxy.DisposeAsync();
            }
        }

        public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<string>> batches, CancellationToken cancellationToken) =>
            inner.ReturnAsync(batches, cancellationToken);

        public ValueTask DisposeAsync() => inner.DisposeAsync();
    }
}
