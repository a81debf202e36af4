using System.Text.Json;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Audit;

/// <summary>Short audits of the queue in RabbitMQ, on servers that are not killed: the tests share them.</summary>
public sealed class AuditRabbitTests(AuditPostgres server, TestRabbit rabbit) : IClassFixture<AuditPostgres>, IClassFixture<TestRabbit>
{
    private const int Limit = 300_000;

    // A short one of the queue in PostgreSQL is in every run: what audits is the same.
    [Fact(Timeout = Limit, Explicit = true)]
    public async Task Audit_AWorkerKilled_KeepsAllPromisesAndSaysHowLongItTook()
    {
        // Short items may all be done before somebody is killed, and then nothing recovers. Long ones are not.
        LoadResult result = await RunAsync(rabbit.Address, "--scenario users,long --rounds 2 --seed 3 --changes 120 --json");
        Assert.True(result.ExitCode == 0, result.Error + result.Out);
        Assert.Equal(480, result.Json.GetProperty("total").GetProperty("applied").GetInt64());
        JsonElement recovery = result.Json.GetProperty("recoveries").EnumerateArray().Single(static r => r.GetProperty("scenario").GetString() == "long");
        Assert.True(recovery.GetProperty("longest").GetDouble() > 0, result.Out);
        Assert.Equal(0, await server.CountDatabasesAsync());
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task Audit_NoSeededFault_KeepsAllPromisesAndLeavesNothingBehind()
    {
        string broker = rabbit.Address;
        LoadResult result = await RunAsync(broker, "--rounds 2 --seed 38 --changes 120 --json");
        Assert.True(result.ExitCode == 0, result.Error + result.Out);
        Assert.Equal(240, result.Json.GetProperty("total").GetProperty("published").GetInt64());
        AuditPostgres.AssertNoPassword(result.Out + result.Error);
        Assert.DoesNotContain(broker, result.Out + result.Error, StringComparison.Ordinal);
        Assert.Equal(0, await server.CountDatabasesAsync());
    }

    [Theory(Timeout = Limit, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("ack-before-effect", "lost")]
    [InlineData("no-key-order", "out_of_order")]
    public async Task Audit_SeededFault_IsFoundWithinThirtyRounds(string fault, string broken)
    {
        LoadResult result = await RunAsync(rabbit.Address, $"--rounds 30 --seed 27 --changes 200 --json --fault {fault}");
        Assert.True(result.ExitCode == 2, result.Error + result.Out);
        Assert.True(result.Json.GetProperty("total").GetProperty(broken).GetInt64() > 0, result.Out);
    }

    [Fact]
    public async Task Audit_OneServerOfTwo_AsksForTheOther()
    {
        LoadResult result = await new CliUnderTest().RunAsync("weir-audit run --engine rabbitmq --rabbitmq amqp://weir:sesame@localhost/");
        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith("weir-audit: --postgres and --rabbitmq must be given both or neither", result.Error, StringComparison.Ordinal);
        result = await new CliUnderTest().RunAsync("weir-audit run --engine rabbitmq --postgres Host=localhost --rabbitmq http://weir:sesame@localhost/");
        Assert.Equal(1, result.ExitCode);
        Assert.DoesNotContain("sesame", result.Error, StringComparison.Ordinal);
    }

    private Task<LoadResult> RunAsync(string broker, string options) => new CliUnderTest().RunAsync(
        ["weir-audit", "run", "--engine", "rabbitmq", "--postgres", server.Connection, "--rabbitmq", broker, .. options.Split(' ')]);
}
