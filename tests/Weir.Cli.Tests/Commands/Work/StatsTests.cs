using System.Globalization;
using System.Text.Json;
using Npgsql;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Work;

/// <summary>What <c>weir-work stats</c> says of a queue and of a replication slot on the real server.</summary>
public sealed class StatsTests(TestPostgres postgres) : IClassFixture<TestPostgres>
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Stats_Queue_SaysWhatWaits()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        CliUnderTest cli = new() { Input = "a\nb\nc\n", Variables = { ["WEIR_QUEUE"] = database.Address } };
        Assert.Equal(0, (await cli.RunAsync("weir-work setup")).ExitCode);
        Assert.Equal(0, (await cli.RunAsync("weir-work publish -")).ExitCode);
        Assert.Equal(0, (await cli.RunAsync("weir-work publish --delay 3600s -")).ExitCode);
        LoadResult text = await cli.RunAsync("weir-work stats");
        Assert.Equal(0, text.ExitCode);
        Assert.Matches(
            @"^queue      work\nwaiting    3 items\nscheduled  3 items\nin flight  0 items\noldest     \d+\.\d s waiting\ndead       0 letters\n$",
            text.Out.ReplaceLineEndings("\n"));
        JsonElement json = (await cli.RunAsync("weir-work stats --json")).Json;
        Assert.Equal(
            ["queue", "waiting", "waitingMessages", "scheduled", "scheduledMessages", "inFlight", "oldestAgeSeconds", "deadLetters"],
            json.EnumerateObject().Select(static p => p.Name));
        Assert.Equal((3, 3, 0), (json.GetProperty("waiting").GetInt32(), json.GetProperty("scheduled").GetInt32(), json.GetProperty("deadLetters").GetInt32()));
        Assert.Equal(JsonValueKind.Null, json.GetProperty("waitingMessages").ValueKind);
        Assert.True(json.GetProperty("oldestAgeSeconds").GetDouble() > 0);
    }

    [Fact(Timeout = Limit)]
    public async Task Stats_Slot_SaysHowFarBehindAndAsksAgain()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync($"SELECT pg_create_logical_replication_slot('{database.Name}', 'pgoutput')");
        await database.ExecuteAsync("CREATE TABLE rows AS SELECT repeat('x', 100) FROM generate_series(1, 1000)");
        CliUnderTest cli = new() { Variables = { ["WEIR_QUEUE"] = database.Address }, StopsAfterLines = 3 };
        LoadResult ran = await cli.RunAsync($"weir-work stats --slot {database.Name} --json --every 100ms");
        Assert.True(ran.ExitCode == 0, ran.Error);
        JsonElement[] all =
        [
            .. ran.Lines.Where(static line => line.Length > 0).Select(static line => JsonDocument.Parse(line).RootElement),
        ];
        Assert.Equal(3, all.Length);
        Assert.All(all, static one => Assert.Equal(
            ("reserved", false, true),
            (one.GetProperty("logState").GetString(), one.GetProperty("isActive").GetBoolean(), one.GetProperty("lagBytes").GetInt64() > 100_000)));
        Assert.Equal(JsonValueKind.Null, all[0].GetProperty("lagSeconds").ValueKind);
        Assert.True(all[2].GetProperty("lagSeconds").GetDouble() > all[1].GetProperty("lagSeconds").GetDouble());
        LoadResult text = await new CliUnderTest { Variables = { ["WEIR_QUEUE"] = database.Address } }.RunAsync($"weir-work stats --slot {database.Name}");
        Assert.Matches(@"^slot       \w+\nbehind     [\d,]+ bytes of log\nretained   [\d,]+ bytes", text.Out.ReplaceLineEndings("\n"));
        Assert.Contains("reader     none", text.Out, StringComparison.Ordinal);
    }

    [Theory(Timeout = Limit)]
    [InlineData("weir-work stats --queue amqp://weir@localhost/ --slot a", "weir-work: --queue must be postgres://USER@HOST/DATABASE, or a connection string")]
    [InlineData("weir-work stats --queue postgres://weir@localhost/x --slot A-B", "weir-work: --slot cannot be used: slot must have from 1 to 63 of the")]
    [InlineData("weir-work stats --queue postgres://weir@localhost/x --every 1ms", "weir-work: --every must be")]
    [InlineData("weir-work stats --slot a", "weir-work: --queue or WEIR_QUEUE must say where the queue is")]
    [InlineData("weir-work stats --queue memory:", "weir-work: --queue memory: holds items only while one command runs")]
    public async Task Stats_BadInput_IsOneSentence(string line, string message)
    {
        LoadResult ran = await new CliUnderTest().RunAsync(line);
        Assert.Equal(1, ran.ExitCode);
        Assert.StartsWith(message, ran.Error, StringComparison.Ordinal);
        Assert.Single(ran.Error.TrimEnd().Split('\n'));
    }

    [Fact(Timeout = Limit)]
    public async Task Stats_SlotThatIsNot_SaysSo()
    {
        LoadResult ran = await new CliUnderTest { Variables = { ["WEIR_QUEUE"] = postgres.Address } }.RunAsync("weir-work stats --slot weir_nowhere");
        Assert.Equal(1, ran.ExitCode);
        Assert.StartsWith("weir-work: The server has no replication slot 'weir_nowhere'", ran.Error, StringComparison.Ordinal);
        Assert.DoesNotContain(
            new NpgsqlConnectionStringBuilder(postgres.Address).Password!, ran.Error.Replace("weir_nowhere", "", StringComparison.Ordinal)[10..],
            StringComparison.Ordinal);
        Assert.Equal("", ran.Out.ToString(CultureInfo.InvariantCulture));
    }

    [Fact]
    public async Task Help_OfCdc_FitsAndHelpAllHasTheRest()
    {
        string first = (await new CliUnderTest().RunAsync("weir-work cdc --help")).Out;
        string all = (await new CliUnderTest().RunAsync("weir-work cdc --help-all")).Out;
        Assert.InRange(Options(first).Length, 10, 20);
        Assert.Contains("'weir-work cdc --help-all' lists 6 more, rarely needed.", first, StringComparison.Ordinal);
        Assert.Equal(
            ["--attempts", "--delay", "--grace", "--order", "--quiet", "--schema"], Options(all).Except(Options(first)).Order(StringComparer.Ordinal));
    }

    private static string[] Options(string help) =>
        [.. help.Split('\n').Select(static l => l.Trim()).Where(static l => l.StartsWith("--", StringComparison.Ordinal)).Select(static l => l.Split(' ')[0])];
}
