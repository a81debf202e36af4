using System.Globalization;
using System.Text.Json;
using Npgsql;
using Weir.Cli.Tests.Support;
using Weir.TestKit;

namespace Weir.Cli.Tests.Commands.Work;

/// <summary>The commands over a queue in PostgreSQL: what one publishes, another runs, and a third replays.</summary>
public sealed class WorkQueueTests(TestPostgres postgres) : IClassFixture<TestPostgres>, IAsyncDisposable
{
    private const int Limit = 120_000;

    private readonly string _schema = string.Create(CultureInfo.InvariantCulture, $"cli {Environment.ProcessId} {Guid.NewGuid():N}");

    [Fact(Timeout = Limit)]
    public async Task Queue_FromPublishToReplay_LosesNothing()
    {
        await Succeeds("setup");
        Assert.Equal("12 items published to work\n", (await Succeeds("publish", "--key-separator", "=", "--origin", "file", "-")).Out.ReplaceLineEndings("\n"));
        Assert.Equal(
            "0 items published to work; 12 were published before under this origin, and are left out\n",
            (await Succeeds("publish", "--key-separator", "=", "--origin", "file", "-")).Out.ReplaceLineEndings("\n"));

        // Those that fail are dead letters, with what the command wrote.
        LoadResult ran = await Succeeds(
            12, "run", "--attempts", "1", "--quiet", "--shell", "--exec", "read -r x; echo \"$x\"; [ \"$x\" != bad ] || { echo oh no >&2; exit 4; }");
        Assert.Equal(12, ran.Lines.Count(static l => l.Length > 0));
        Assert.StartsWith("11 processed, 0 repeated, 1 dead letters, 0 returned", ran.Error, StringComparison.Ordinal);
        JsonElement letter = (await Succeeds("dead", "list", "--json")).Json;
        Assert.Equal(
            ("file/11", "Failed", "k", "bad"),
            (letter.GetProperty("id").GetString(), letter.GetProperty("reason").GetString(), letter.GetProperty("key").GetString(),
                letter.GetProperty("value").GetString()));
        string shown = (await Succeeds("dead", "show", "file/11")).Out;
        Assert.Contains("'sh' ended with exit code 4: oh no", shown, StringComparison.Ordinal);
        string listed = (await Succeeds("dead", "list")).Out;
        Assert.Contains("file/11", listed, StringComparison.Ordinal);
        Assert.Contains(" 'sh' ended with exit code 4: oh no", listed, StringComparison.Ordinal);
        Assert.DoesNotContain("Exception", listed, StringComparison.Ordinal);

        Assert.Equal(1, (await Succeeds("dead", "replay", "file/11", "file/11", "--json")).Json.GetProperty("replayed").GetInt32());
        LoadResult missing = await RunAsync("dead", "replay", "file/11");
        Assert.Equal(1, missing.ExitCode);
        Assert.StartsWith("weir-work: Only 0 of 1 items were dead letters of the queue work", missing.Error, StringComparison.Ordinal);
        Assert.Equal("bad", (await Succeeds(1, "run", "--quiet")).Lines[0]);
    }

    [Fact(Timeout = Limit)]
    public async Task Items_AreListedFoundAndCancelled()
    {
        await Succeeds("setup");
        Assert.Equal("the queue work is empty\n", (await Succeeds("list")).Out.ReplaceLineEndings("\n"));
        await Succeeds("publish", "--key-separator", "=", "--origin", "file", "-");
        string listed = (await Succeeds("list", "--limit", "1")).Out;
        Assert.Contains("file/0", listed, StringComparison.Ordinal);
        Assert.Contains("queued", listed, StringComparison.Ordinal);
        Assert.Equal(12, (await Succeeds("list", "--json")).Lines.Count(static l => l.Length > 0));
        JsonElement found = (await Succeeds("find", "file/11", "--json")).Json;
        Assert.Equal(
            (false, 1, "k", "bad"),
            (found.GetProperty("inFlight").GetBoolean(), found.GetProperty("attempt").GetInt32(), found.GetProperty("key").GetString(),
                found.GetProperty("value").GetString()));
        Assert.Contains("value     bad", (await Succeeds("find", "file/11")).Out, StringComparison.Ordinal);
        Assert.Equal(2, (await Succeeds("cancel", "file/11", "file/0", "--json")).Json.GetProperty("cancelled").GetInt32());
        foreach ((string[] arguments, string error) in ((string[], string)[])[
            (["cancel", "file/11", "file/1"], "weir-work: Only 1 of 2 items were cancelled"),
            (["find", "file/11"], "weir-work: There is no item 'file/11' in the queue work"),
            (["find", "file"], "weir-work: ID must be the identity of an item")])
        {
            LoadResult refused = await RunAsync(arguments);
            Assert.Equal(1, refused.ExitCode);
            Assert.StartsWith(error, refused.Error, StringComparison.Ordinal);
        }

        Assert.Equal(9, (await Succeeds(9, "run", "--quiet")).Lines.Count(static l => l.Length > 0));
    }

    [Fact(Timeout = Limit)]
    public async Task Run_CtrlC_FinishesWhatRunsAndReturnsTheRest()
    {
        await Succeeds("setup");
        await Succeeds("publish");
        using CancellationTokenSource stop = new();
        using TemporaryDirectory folder = new();
        string started = Path.Combine(folder.Path, "started");
        string go = Path.Combine(folder.Path, "go");
        CliUnderTest cli = new() { Stop = stop.Token, Variables = { ["WEIR_QUEUE"] = postgres.Address } };
        Task<LoadResult> run = cli.RunAsync(
            [
                "weir-work", "run", "--schema", _schema, "--json", "--max-concurrency", "1", "--grace", "10min", "--shell", "--exec",
                $"cat >> '{started}'; while [ ! -e '{go}' ]; do sleep 0.02; done",
            ]);
        await Guard.UntilAsync(() => File.Exists(started), "The first item");
        await stop.CancelAsync();
        await Guard.SettleAsync();
        await File.WriteAllTextAsync(go, "", CancellationToken.None);
        LoadResult ran = await run.WithinAsync("The run");
        Assert.True(ran.ExitCode == 0, ran.Error);
        Assert.Equal(
            (1, 0, 11),
            (ran.Json.GetProperty("processed").GetInt32(), ran.Json.GetProperty("failedAttempts").GetInt32(), ran.Json.GetProperty("returned").GetInt32()));
        Assert.Equal(11, (await Succeeds(11, "run", "--quiet")).Lines.Count(static l => l.Length > 0));
    }

    [Fact(Timeout = Limit)]
    public async Task Run_NotSetUp_SaysWhatToDo()
    {
        LoadResult ran = await RunAsync("run");
        Assert.Equal(1, ran.ExitCode);
        Assert.Contains("SetupAsync", ran.Error, StringComparison.Ordinal);
    }

    public async ValueTask DisposeAsync()
    {
        if (postgres.Found is { } address)
        {
            await using NpgsqlDataSource source = NpgsqlDataSource.Create(address);
            await using NpgsqlCommand drop = source.CreateCommand($"DROP SCHEMA IF EXISTS \"{_schema}\" CASCADE");
            await drop.ExecuteNonQueryAsync(CancellationToken.None);
        }
    }

    private Task<LoadResult> Succeeds(params string[] arguments) => Succeeds(null, arguments);

    private async Task<LoadResult> Succeeds(int? stopsAfterLines, params string[] arguments)
    {
        LoadResult result = await RunAsync(stopsAfterLines, arguments);
        Assert.True(result.ExitCode == 0, result.Error);
        return result;
    }

    private Task<LoadResult> RunAsync(params string[] arguments) => RunAsync(null, arguments);

    private Task<LoadResult> RunAsync(int? stopsAfterLines, string[] arguments)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The commands are those of a Unix shell.");
        CliUnderTest cli = new()
        {
            Input = string.Concat(Enumerable.Range(0, 11).Select(static i => $"k=value {i}\n")) + "k=bad\n",
            Variables = { ["WEIR_QUEUE"] = postgres.Address },
            StopsAfterLines = stopsAfterLines,
        };
        return cli.RunAsync(["weir-work", .. arguments, "--schema", _schema]);
    }
}
