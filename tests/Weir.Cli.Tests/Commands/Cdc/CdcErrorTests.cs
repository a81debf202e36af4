using System.Text.Json;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Cdc;

/// <summary>Rows that were once too much for the command, and changes that still cannot be read: the stream stops, skips or keeps them.</summary>
public sealed class CdcErrorTests(TestPostgres postgres) : IClassFixture<TestPostgres>
{
    private const int Limit = 180_000;

    // A database without an encoding takes any bytes as text: these are not UTF-8.
    private const string WithoutEncoding = "ENCODING SQL_ASCII LC_COLLATE 'C' LC_CTYPE 'C'";
    private const string Unreadable = @"E'\xC8x'";

    [Fact(Timeout = Limit)]
    public async Task Row_ThatTheServerTakes_IsPrinted()
    {
        (string Type, string Value, string Json)[] columns =
        [
            ("date", "4713-01-01 BC", "\"4713-01-01 BC\""),
            ("timestamptz", "20000-01-01 00:00+00", "\"20000-01-01T00:00:00+00:00\""),
            ("timestamp", "0044-03-15 12:00 BC", "\"0044-03-15T12:00:00 BC\""),
            ("int[]", "{{1,2},{3,4}}", "[[1,2],[3,4]]"),
            ("numeric[]", "{1,NaN}", "[1,\"NaN\"]"),
            ("numeric[]", "{1234567890123456789012345678901}", "[1234567890123456789012345678901]"),
            ("aclitem[]", "{weir=r/weir}", "[\"weir=r/weir\"]"),
        ];
        await using TestDatabase database = await CreateAsync(string.Join(", ", columns.Select(static (c, i) => $"v{i} {c.Type}")));
        string values = string.Join(", ", columns.Select(static c => $"'{c.Value}'"));
        await database.ExecuteAsync($"INSERT INTO items VALUES (1, {values}); INSERT INTO items VALUES (2)");
        string[] lines = LinesOf(await RunAsync(database));
        Assert.Equal(
            [Row(1, static c => c.Json), Row(2, static _ => "null")],
            lines.Select(static l => JsonDocument.Parse(l).RootElement.GetProperty("new").GetRawText()));

        string Row(int id, Func<(string Type, string Value, string Json), string> value) =>
            $"{{\"id\":{id},{string.Join(",", columns.Select((c, i) => $"\"v{i}\":{value(c)}"))}}}";
    }

    [Fact(Timeout = Limit)]
    public async Task Unreadable_ByDefault_StopsWithTheCommandThatKeepsItAndGoesOn()
    {
        await using TestDatabase database = await CreateAsync("v text, w text", WithoutEncoding);
        await database.ExecuteAsync($"INSERT INTO items VALUES (1, 'a', 'x'), (2, {Unreadable}, 'y'), (3, 'c', 'z'); INSERT INTO items VALUES (4, 'd', '')");
        for (int run = 0; run < 2; run++)
        {
            LoadResult stopped = await RunAsync(database, "--batch", "1", "--on-error", "stop");
            Assert.Equal(1, stopped.ExitCode);
            Assert.Equal(run == 0 ? 1 : 0, IdsOf(stopped).Length);
            Assert.Contains(
                "/1 (Insert of public.items) cannot be read: the server sends no valid UTF-8 for column 'v'.", stopped.Error, StringComparison.Ordinal);
            Assert.Contains("nothing is lost", stopped.Error, StringComparison.Ordinal);
        }

        LoadResult last = await RunAsync(database, "--batch", "1");
        string command = last.Error[last.Error.IndexOf("weir-work cdc --", StringComparison.Ordinal)..].Trim();
        Assert.Equal(
            $"weir-work cdc --publication items --slot {database.Name} --quiet --idle 100ms --batch 1 --on-error dead --setup", command);
        LoadResult went = await CliOn(database).RunAsync(command);
        Assert.Equal([3, 4], IdsOf(went));
        Assert.Contains("It is a dead letter.", went.Error, StringComparison.Ordinal);
        LoadResult letters = await CliOn(database).RunAsync($"weir-work dead list --queue {database.Address} --json".Split(' '));
        JsonElement letter = JsonDocument.Parse(Assert.Single(LinesOf(letters))).RootElement;
        Assert.Matches($"^{database.Name}:[0-9A-F]+/[0-9A-F]+/1$", letter.GetProperty("id").GetString()!);
        Assert.Equal("Undecodable", letter.GetProperty("reason").GetString());
        LoadResult shown = await CliOn(database).RunAsync(["weir-work", "dead", "show", letter.GetProperty("id").GetString()!, "--queue", database.Address]);
        Assert.Contains("""  "new":{"id":2,"w":"y"},""".Trim(), shown.Out, StringComparison.Ordinal);

        // It is behind: nothing comes again, and the letter is there once.
        await database.ExecuteAsync("INSERT INTO items VALUES (5)");
        LoadResult next = await RunAsync(database);
        Assert.Equal([5], IdsOf(next));
    }

    [Fact(Timeout = Limit)]
    public async Task Unreadable_Skipped_IsSaidAndTheOthersAreThere()
    {
        await using TestDatabase database = await CreateAsync("v text", WithoutEncoding);
        await database.ExecuteAsync($"ALTER TABLE items REPLICA IDENTITY FULL; INSERT INTO items VALUES (1, 'a'), (2, {Unreadable}), (3, 'c')");
        await database.ExecuteAsync("UPDATE items SET v = 'b'; DELETE FROM items");
        LoadResult run = await RunAsync(database, "--on-error", "skip");
        Assert.Equal([1, 3, 1, 3, 1, 2, 3], IdsOf(run));
        Assert.Equal(2, run.Error.Split("It is skipped.").Length - 1);
        Assert.Contains("(Update of public.items) cannot be read", run.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Unreadable_OfASnapshotToAQueue_IsADeadLetterOfTheQueue()
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync(WithoutEncoding);
        await database.ExecuteAsync($"CREATE TABLE items (id int PRIMARY KEY, v text); INSERT INTO items VALUES (1, 'a'), (2, {Unreadable}), (3, 'c')");
        LoadResult run = await RunAsync(
            database, "--setup", "--tables", "items", "--snapshot", "--to", database.Address, "--name", "changes", "--on-error", "dead");
        Assert.True(run.ExitCode == 0, run.Error);
        Assert.Equal(2, await database.ScalarAsync<long>("SELECT count(*) FROM weir.queue_changes"));
        LoadResult letters = await CliOn(database).RunAsync(["weir-work", "dead", "list", "--queue", database.Address, "--name", "changes", "--json"]);
        Assert.EndsWith("/1", JsonDocument.Parse(Assert.Single(LinesOf(letters))).RootElement.GetProperty("id").GetString(), StringComparison.Ordinal);
    }

    private async Task<TestDatabase> CreateAsync(string columns, string options = "")
    {
        TestDatabase database = await postgres.CreateDatabaseAsync(options);
        await database.ExecuteAsync($"CREATE TABLE items (id int PRIMARY KEY, {columns})");
        LoadResult setup = await RunAsync(database, "--setup", "--tables", "items");
        Assert.True(setup.ExitCode == 0, setup.Error);
        return database;
    }

    private static CliUnderTest CliOn(TestDatabase database)
    {
        CliUnderTest cli = new();
        cli.Variables["WEIR_SOURCE"] = database.Address;
        return cli;
    }

    private static Task<LoadResult> RunAsync(TestDatabase database, params string[] options) => CliOn(database).RunAsync(
        ["weir-work", "cdc", "--publication", "items", "--slot", database.Name, "--quiet", "--idle", "100ms", .. options]);

    private static string[] LinesOf(LoadResult result) => [.. result.Lines.Where(static l => l.Length > 0)];

    private static int[] IdsOf(LoadResult result) =>
        [.. LinesOf(result).Select(static l => JsonDocument.Parse(l).RootElement.GetProperty("key").GetProperty("id").GetInt32())];
}
