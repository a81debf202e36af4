using System.Text.Json;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Audit;

/// <summary>Short audits on a real server that is not killed: the tests share it.</summary>
public sealed class AuditRunTests(AuditPostgres server) : IClassFixture<AuditPostgres>
{
    private const int Limit = 300_000;

    [Fact(Timeout = Limit)]
    public async Task Audit_AWorkerKilled_KeepsAllPromisesAndSaysHowLongItTook()
    {
        LoadResult result = await RunAsync("--scenario long --rounds 2 --seed 3 --changes 60 --json");
        Assert.True(result.ExitCode == 0, result.Error + result.Out);
        Assert.Equal(120, result.Json.GetProperty("total").GetProperty("applied").GetInt64());
        Assert.Equal(2, result.Json.GetProperty("rounds").GetArrayLength());
        JsonElement recovery = result.Json.GetProperty("recoveries").EnumerateArray().Single(static r => r.GetProperty("scenario").GetString() == "long");
        Assert.True(recovery.GetProperty("longest").GetDouble() > 0, result.Out);
        Assert.Equal(0, await server.CountDatabasesAsync());
    }

    [Theory(Timeout = Limit, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("publisher")]
    [InlineData("table")]
    public async Task Audit_NoSeededFault_KeepsAllPromisesAndLeavesNothingBehind(string from)
    {
        using TemporaryDirectory directory = new();
        LoadResult result = await RunAsync($"--rounds 2 --seed 38 --changes 120 --from {from} --output", directory.File("audit.md"));
        Assert.True(result.ExitCode == 0, result.Error + result.Out);
        Assert.Contains("[2/2]", result.Error, StringComparison.Ordinal);
        Assert.Contains("KEPT  240 changes: none lost", result.Out, StringComparison.Ordinal);
        string page = await File.ReadAllTextAsync(directory.File("audit.md"), TestContext.Current.CancellationToken);
        Assert.Contains("| 1 | ", page, StringComparison.Ordinal);
        AuditPostgres.AssertNoPassword(result.Out + result.Error + page);
        Assert.Equal(0, await server.CountDatabasesAsync());
    }

    [Theory(Timeout = Limit, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("ack-before-effect", "lost")]
    [InlineData("effect-outside-transaction", "applied_twice")]
    [InlineData("no-key-order", "out_of_order")]
    public async Task Audit_SeededFault_IsFoundWithinThirtyRounds(string fault, string broken)
    {
        LoadResult result = await RunAsync($"--rounds 30 --seed 27 --changes 200 --json --fault {fault}");
        Assert.True(result.ExitCode == 2, result.Error + result.Out);
        JsonElement total = result.Json.GetProperty("total");
        Assert.True(total.GetProperty(broken).GetInt64() > 0, result.Out);
        Assert.True(result.Json.GetProperty("is_broken").GetBoolean());
        AuditPostgres.AssertNoPassword(result.Out + result.Error);
        Assert.Equal(0, await server.CountDatabasesAsync());
    }

    [Fact(Timeout = Limit, Explicit = true)]
    public async Task Audit_StoppedAfterARound_ReportsItAsPartialAndCleansUp()
    {
        LoadResult result = await RunAsync("--rounds 1000 --seed 2 --changes 20 --json", stopsAt: "[1/1000]");
        Assert.Equal(130, result.ExitCode);
        Assert.True(result.Json.GetProperty("partial").GetBoolean());
        Assert.NotEmpty(result.Json.GetProperty("rounds").EnumerateArray());
        Assert.EndsWith("weir-audit: stopped; the completed rounds are reported as partial.\n", result.Error, StringComparison.Ordinal);
        Assert.Equal(0, await server.CountDatabasesAsync());
    }

    private Task<LoadResult> RunAsync(string options, string? last = null, string? stopsAt = null) => new CliUnderTest { StopsAt = stopsAt }.RunAsync(
        [
            "weir-audit", "run", "--postgres", server.Connection, .. options.Split(' '), .. last is null ? Array.Empty<string>() : [last],
        ]);
}
