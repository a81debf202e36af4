using System.Text.Json;
using Weir.Cli.Kit.Hosting;
using Weir.Cli.Tests.Support;
using Weir.Delivery;
using Weir.Delivery.Cli.Commands.Cdc.Lines;
using Weir.Delivery.Cli.Commands.Cdc.Targets;
using Weir.Delivery.Cli.Hosting;
using Weir.TestKit;

namespace Weir.Cli.Tests.Commands.Cdc;

/// <summary>The command that moves changes out of a real database: each arrives, in order, and a second run goes on where the first one was.</summary>
public sealed class CdcTests(TestPostgres postgres) : IClassFixture<TestPostgres>
{
    private const int Limit = 120_000;
    private const string Password = "s3cr3t-Of-Nobody";

    [Fact(Timeout = Limit)]
    public async Task Output_SnapshotAndChanges_AreLinesOfJsonAndGoOnAfterCtrlC()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync(
            """
            CREATE TABLE items (id int PRIMARY KEY, name text, price numeric(10,2), tags text[], made timestamptz, raw bytea, ratio float8);
            ALTER TABLE items ALTER name SET STORAGE EXTERNAL;
            INSERT INTO items VALUES (1, 'ä "b"', 1.50, '{x,y}', '2026-01-02 03:04:05Z', '\x0102', 'NaN')
            """);

        // A snapshot that is not complete is taken again: the first run ends when it is.
        using CancellationTokenSource stop = new();
        Task<LoadResult> run = RunAsync(database, new CliUnderTest { Stop = stop.Token }, "--setup", "--tables", "items", "--snapshot");
        await Guard.UntilAsync(() => IsSnapshotComplete(database), "The end of the snapshot");
        await stop.CancelAsync();
        JsonElement[] first = LinesOf(await run.WithinAsync("The first run"));
        Assert.Equal(
            """
            "kind":"snapshot","schema":"public","table":"items","key":{"id":1},"new":{"id":1,"name":"ä \"b\"","price":1.50,
            """ + """
            "tags":["x","y"],"made":"2026-01-02T03:04:05+00:00","raw":"\\x0102","ratio":"NaN"},
            """,
            Between(first[0], "\"kind\"", "\"lsn\""));
        await database.ExecuteAsync("INSERT INTO items (id, name) VALUES (2, repeat('x', 10000)); UPDATE items SET price = 2 WHERE id = 2");
        await database.ExecuteAsync("UPDATE items SET id = 3 WHERE id = 2; DELETE FROM items WHERE id = 1; TRUNCATE items");
        JsonElement[] next = await LinesAsync(database, 5);
        Assert.Equal(["insert", "update", "update", "delete", "truncate"], next.Select(static l => l.GetProperty("kind").GetString()));
        Assert.Equal(2, next[0].GetProperty("key").GetProperty("id").GetInt32());
        Assert.Equal("""["name"]""", next[1].GetProperty("unchanged").GetRawText());
        Assert.False(next[1].GetProperty("new").TryGetProperty("name", out _));
        Assert.Equal(2.00m, next[1].GetProperty("new").GetProperty("price").GetDecimal());
        Assert.Equal("""{"id":2}""", next[2].GetProperty("old").GetRawText());
        Assert.Equal((true, false), (next[1].GetProperty("last").GetBoolean(), next[2].GetProperty("last").GetBoolean()));

        // What was printed does not come again.
        await database.ExecuteAsync("INSERT INTO items (id) VALUES (9)");
        Assert.Equal("9", (await LinesAsync(database, 1)).Single().GetProperty("key").GetProperty("id").GetRawText());
        LoadResult dropped = await RunAsync(database, null, "--drop");
        Assert.Equal(0, dropped.ExitCode);
        Assert.Equal(0, await database.ScalarAsync<long>($"SELECT count(*) FROM pg_replication_slots WHERE database = '{database.Name}'"));
    }

    [Fact(Timeout = Limit)]
    public async Task Exec_FailsAndSucceeds_GivesTheSameChangesAgain()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The command is one of a Unix shell.");
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync("CREATE TABLE items (id int PRIMARY KEY)");
        Assert.Equal(0, (await RunAsync(database, null, "--setup", "--tables", "items", "--idle", "1ms")).ExitCode);
        await database.ExecuteAsync("INSERT INTO items SELECT generate_series(1, 7)");
        using TemporaryDirectory folder = new();
        string got = Path.Combine(folder.Path, "got");
        LoadResult failed = await RunAsync(
            database,
            null,
            "--to", "exec", "--attempts", "2", "--delay", "1ms", "--batch", "3", "--shell", "--exec", "cat >/dev/null; echo oh no >&2; exit 4");
        Assert.Equal(1, failed.ExitCode);
        Assert.Contains("'sh' ended with exit code 4: oh no (trying again)", failed.Error, StringComparison.Ordinal);
        Assert.Contains("This was attempt 2 of 2 for the 3 changes from", failed.Error, StringComparison.Ordinal);
        Assert.Contains("0 changes to", failed.Error, StringComparison.Ordinal);

        // It succeeds for the first three, and fails for the next ones: only those come again.
        LoadResult half = await RunAsync(
            database,
            null,
            "--to", "exec", "--attempts", "1", "--batch", "3", "--shell", "--exec",
            $"grep -o '\"key\":[^,]*' | tee -a '{got}' | {{ ! grep :4 >/dev/null; }}");
        Assert.True(half.ExitCode == 1, half.Error);
        Assert.Contains("3 changes to 'grep", half.Error, StringComparison.Ordinal);
        using CancellationTokenSource stop = new();
        Task<LoadResult> rest = RunAsync(
            database, new CliUnderTest { Stop = stop.Token }, "--to", "exec", "--batch", "3", "--shell", "--exec", $"grep -o '\"key\":[^,]*' >> '{got}'");
        await Guard.UntilAsync(() => File.Exists(got) && File.ReadAllText(got).Contains("\"id\":7", StringComparison.Ordinal), "The last change");
        await stop.CancelAsync();
        LoadResult ended = await rest.WithinAsync("The end");
        Assert.True(ended.ExitCode == 0, ended.Error);
        string[] lines = await File.ReadAllLinesAsync(got, TestContext.Current.CancellationToken);
        Assert.Equal("1 2 3 4 5 6 4 5 6 7".Split(' ').Select(static i => $"\"key\":{{\"id\":{i}}}"), lines);
    }

    [Fact(Timeout = Limit)]
    public async Task Exec_CtrlC_LetsTheCommandFinish()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The command is one of a Unix shell.");
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync("CREATE TABLE items (id int PRIMARY KEY)");
        Assert.Equal(0, (await RunAsync(database, null, "--setup", "--tables", "items", "--idle", "1ms")).ExitCode);
        await database.ExecuteAsync("INSERT INTO items VALUES (1)");
        using TemporaryDirectory folder = new();
        string started = Path.Combine(folder.Path, "started");
        string go = Path.Combine(folder.Path, "go");
        using CancellationTokenSource stop = new();
        Task<LoadResult> run = RunAsync(
            database,
            new CliUnderTest { Stop = stop.Token },
            "--to", "exec", "--grace", "10min", "--shell", "--exec", $"cat >> '{started}'; while [ ! -e '{go}' ]; do sleep 0.02; done");
        await Guard.UntilAsync(() => File.Exists(started), "The command");
        await stop.CancelAsync();
        await Guard.SettleAsync();
        await File.WriteAllTextAsync(go, "", CancellationToken.None);
        LoadResult ended = await run.WithinAsync("The end");
        Assert.Equal(0, ended.ExitCode);
        Assert.Contains("1 changes to 'cat", ended.Error, StringComparison.Ordinal);

        // It was done, so it does not come again.
        await database.ExecuteAsync("INSERT INTO items VALUES (2)");
        Assert.Equal("2", (await LinesAsync(database, 1)).Single().GetProperty("key").GetProperty("id").GetRawText());
    }

    [Fact(Timeout = Limit)]
    public async Task Idle_ServerReadsALongTransaction_WaitsForIt()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync("CREATE TABLE other (id int); CREATE TABLE items (id int PRIMARY KEY)");
        Assert.Equal(0, (await RunAsync(database, null, "--setup", "--tables", "items", "--idle", "1ms")).ExitCode);

        // The server reads these first, and sends nothing of them.
        await database.ExecuteAsync("INSERT INTO other SELECT generate_series(1, 300000); INSERT INTO items SELECT generate_series(1, 100)");
        LoadResult run = await RunAsync(database, null, "--idle", "1ms");
        Assert.Equal(0, run.ExitCode);
        Assert.Equal(Enumerable.Range(1, 100), LinesOf(run).Select(static line => line.GetProperty("key").GetProperty("id").GetInt32()));
    }

    [Fact(Timeout = Limit)]
    public async Task Queue_InOrderOfRelations_HasTheChangesWithTheirKeys()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)");
        string[] target = ["--to", database.Address, "--name", "changes", "--ordered", "--order", "relation"];
        Assert.Equal(0, (await RunAsync(database, null, [.. target, "--setup", "--tables", "a,b", "--idle", "1ms"])).ExitCode);
        await database.ExecuteAsync("INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1); INSERT INTO a VALUES (3)");
        using CancellationTokenSource stop = new();
        Task<LoadResult> run = RunAsync(database, new CliUnderTest { Stop = stop.Token }, target);
        await Guard.UntilAsync(
            async () => await database.ScalarAsync<long>("SELECT count(*) FROM weir.queue_changes") == 4, "All changes in the queue");
        await stop.CancelAsync();
        LoadResult ended = await run.WithinAsync("The end");
        Assert.True(ended.ExitCode == 0, ended.Error);
        Assert.Contains("to the queue changes, up to ", ended.Error, StringComparison.Ordinal);
        Assert.Equal(
            "public.a:0,public.a:1,public.b:2,public.a:3",
            await database.ScalarAsync<string>("SELECT string_agg(key || ':' || place, ',' ORDER BY id) FROM weir.queue_changes"));
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task AllTables_OneInsert_IsOneLine(bool toQueue)
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync("CREATE TABLE items (id int PRIMARY KEY); CREATE PUBLICATION items FOR ALL TABLES");
        string[] target = toQueue ? ["--to", database.Address, "--name", "changes"] : [];
        LoadResult setup = await RunAsync(database, null, [.. target, "--setup", "--idle", "1ms"]);
        Assert.True(setup.ExitCode == 0, setup.Error);
        await database.ExecuteAsync("INSERT INTO items VALUES (1)");
        for (int run = 0; run < 3; run++)
        {
            LoadResult ended = await RunAsync(database, null, [.. target, "--idle", "500ms"]);
            Assert.True(ended.ExitCode == 0, ended.Error);
            Assert.Contains(run == 0 ? "1 changes to " : "0 changes to ", ended.Error, StringComparison.Ordinal);
            Assert.Contains("Publication 'items' has tables of Weir itself (weir.checkpoints", ended.Error, StringComparison.Ordinal);
        }

        if (toQueue)
        {
            Assert.Equal(1, await database.ScalarAsync<long>("SELECT count(*) FROM weir.queue_changes"));
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Setup_ThatFails_LeavesNothing(bool isTarget)
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync("CREATE TABLE items (id int PRIMARY KEY)");

        // A table of Weir's that is none, so that the position cannot be kept; or a target that is not there.
        await database.ExecuteAsync(isTarget ? "SELECT 1" : "CREATE SCHEMA weir; CREATE TABLE weir.checkpoints (id int)");
        LoadResult failed = await RunAsync(
            database, null, ["--setup", "--tables", "items", "--idle", "1ms", .. isTarget ? ["--to", "postgres://u@127.0.0.1:1/d"] : Array.Empty<string>()]);
        Assert.Equal(1, failed.ExitCode);
        Assert.Equal(0, await database.ScalarAsync<long>("SELECT count(*) FROM pg_publication"));
        Assert.Equal(0, await database.ScalarAsync<long>($"SELECT count(*) FROM pg_replication_slots WHERE database = '{database.Name}'"));
        Assert.Equal(isTarget, await database.ScalarAsync<bool>("SELECT to_regclass('weir.checkpoints') IS NULL"));
    }

    [Theory]
    [InlineData("weir-work cdc --source Host=a,b;Username=u --publication p --slot s", "--source or WEIR_SOURCE cannot be used: connectionString must name")]
    [InlineData("weir-work cdc --publication p --slot s", "--source or WEIR_SOURCE must say where the database is")]
    [InlineData("weir-work cdc --source Host=h --slot s", "--publication must name a publication")]
    [InlineData("weir-work cdc --source Host=h --publication p", "--slot must name the replication slot")]
    [InlineData("weir-work cdc --source Host=h --publication p --slot S!", "--slot or --publication cannot be used")]
    [InlineData("weir-work cdc --source Host=h --publication p --slot s --snapshot", "need --setup")]
    [InlineData("weir-work cdc --source Host=h --publication p --slot s --to exec", "need --to exec")]
    [InlineData("weir-work cdc --source Host=h --publication p --slot s --exec cat", "need --to exec")]
    [InlineData("weir-work cdc --source Host=h --publication p --slot s --to memory:", "would lose the changes")]
    [InlineData("weir-work cdc --source Host=h --publication p --slot s --to kafka://h", "it is something else, which is not shown")]
    [InlineData("weir-work cdc --source Host=h --publication p --slot s --order row", "--order must be key, relation, transaction, global or none")]
    [InlineData("weir-work cdc --source Server=1;Password=" + Password + ";Nothing=1 --publication p --slot s", "is not shown because it may have a password")]
    [InlineData("weir-work cdc --source Host=127.0.0.1;Port=1;Username=u;Password=" + Password + " --publication p --slot s", "weir-work: Failed to connect")]
    public async Task Run_BadInput_IsOneSentenceWithoutAPassword(string arguments, string sentence)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);
        Assert.Equal(1, result.ExitCode);
        Assert.Contains(sentence, result.Error, StringComparison.Ordinal);
        Assert.DoesNotContain(Password, result.Error, StringComparison.Ordinal);
        Assert.Empty(result.Out);
    }

    [Fact]
    public async Task Output_ClosedByItsReader_EndsTheStream()
    {
        await using OutputLines lines = new(new TextLines(new ClosedWriter()));
        WorkItem<ChangeLine> item = WorkItem.Create(new ChangeLine("{}", default));
        await Assert.ThrowsAsync<WorkSetupException>(async () => await lines.WriteAsync([item], null, CancellationToken.None));
    }

    private static string Between(JsonElement line, string from, string to)
    {
        string text = line.GetRawText();
        int start = text.IndexOf(from, StringComparison.Ordinal);
        return text[start..text.IndexOf(to, start, StringComparison.Ordinal)];
    }

    private static bool IsSnapshotComplete(TestDatabase database) =>
        database.ScalarAsync<bool>("SELECT to_regclass('weir.checkpoints') IS NOT NULL").GetAwaiter().GetResult()
        && database.ScalarAsync<bool>("""SELECT EXISTS (SELECT FROM weir.checkpoints WHERE "position" <> 'snapshot')""").GetAwaiter().GetResult();

    private static async Task<JsonElement[]> LinesAsync(TestDatabase database, int stopsAfter) =>
        LinesOf(await RunAsync(database, new CliUnderTest { StopsAfterLines = stopsAfter }).WithinAsync("The command"));

    private static JsonElement[] LinesOf(LoadResult result)
    {
        Assert.True(result.ExitCode == 0, result.Error);
        Assert.Contains("changes to stdout, up to ", result.Error, StringComparison.Ordinal);
        return [.. result.Lines.Where(static l => l.Length > 0).Select(static l => JsonDocument.Parse(l).RootElement)];
    }

    private static async Task<LoadResult> RunAsync(TestDatabase database, CliUnderTest? cli, params string[] options)
    {
        cli ??= new CliUnderTest();
        cli.Variables["WEIR_SOURCE"] = database.Address;
        LoadResult result = await cli.RunAsync(["weir-work", "cdc", "--publication", "items", "--slot", database.Name, "--quiet", .. options]);
        Assert.DoesNotContain("Password", result.Error, StringComparison.OrdinalIgnoreCase);
        return result;
    }

    private sealed class ClosedWriter : StringWriter
    {
        public override void Flush() => throw new OutputException("Broken pipe");
    }
}
