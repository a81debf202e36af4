using System.Text.Json;
using Weir.Cli.Tests.Support;
using Weir.Delivery.Cli.App;

namespace Weir.Cli.Tests.Commands.Cdc;

/// <summary>Changes to an output that a real shell has redirected: each is a whole line of it, whoever else writes there, or it comes again.</summary>
public sealed class CdcRedirectedTests(TestPostgres postgres) : RedirectedTest(postgres)
{
    private const int Limit = 180_000;

    private string Cdc =>
        $"{Shell.Program(typeof(WorkApp))} cdc --source '{Database.Address}' --publication items --slot {Database.Name} --idle 300ms";

    [Theory(Timeout = Limit)]
    [InlineData("exec 3>f", ">&3", Explicit = true)]
    [InlineData("exec 3>f", ">&3 2>&3")]
    [InlineData("exec 3>>f", ">&3 2>&3", Explicit = true)]
    [InlineData("", ">> f 2>> f", Explicit = true)]
    [InlineData("", "2>> f | cat >> f", Explicit = true)]
    public async Task SeveralRuns_IntoOneFile_LeaveAllTheirLines(string open, string redirection)
    {
        Assert.Equal(0, (await Shell.RunAsync($":; {open}")).ExitCode);
        for (int run = 0; run < 2; run++)
        {
            await InsertAsync(run * 200, 200);
            (int code, string error) = await Shell.RunAsync($"{Cdc} --batch 7 {redirection}");
            Assert.True(code == 0, error);
        }

        (int[] ids, string[] others) = await ReadAsync();
        Assert.Equal(Enumerable.Range(0, 400), ids);
        Assert.Equal(redirection.Contains('2', StringComparison.Ordinal) ? 2 : 0, others.Length);
        Assert.All(others, static line => Assert.StartsWith("200 changes to stdout, up to ", line, StringComparison.Ordinal));
    }

    [Theory(Timeout = Limit)]
    [InlineData("> /dev/full", "The output cannot be written: No space left on device. What it has not taken is delivered again.")]
    [InlineData("| true", "The output cannot be written: Broken pipe. What it has not taken is delivered again.", Explicit = true)]
    [InlineData(">&-", "The output cannot be written: Bad file descriptor. What it has not taken is delivered again.", Explicit = true)]
    public async Task Output_TakesNoMore_EndsWithASentenceAndTheChangesComeAgain(string redirection, string sentence)
    {
        await InsertAsync(0, 5_000);
        (_, string error) = await Shell.RunAsync($"{{ {Cdc}; echo exit code $? >&2; }} {redirection}");
        Assert.Contains(sentence, error, StringComparison.Ordinal);
        Assert.EndsWith("exit code 1", error, StringComparison.Ordinal);
        Assert.Equal(0, (await Shell.RunAsync($"{Cdc} > f")).ExitCode);
        Assert.Equal(Enumerable.Range(0, 5_000), (await ReadAsync()).Ids);
    }

    [Theory(Timeout = Limit)]
    [InlineData("> f", true, Explicit = true)]
    [InlineData(">> f", true)]
    [InlineData(">> f", false, Explicit = true)]
    public async Task File_EndsWithinALine_LosesNotTheNextOne(string redirection, bool isTorn)
    {
        // What a program leaves that is killed while it writes.
        await Shell.RunAsync(redirection[1] == '>' ? $"printf 'half of{(isTorn ? "" : "\\n")}' > f" : "exec > f; printf 'half of'");
        await InsertAsync(0, 3);
        await Shell.RunAsync(redirection[1] == '>' ? $"{Cdc} {redirection}" : Cdc);
        string[] lines = await File.ReadAllLinesAsync(FileOf("f"), TestContext.Current.CancellationToken);
        Assert.Equal("half of", lines[0]);
        Assert.Equal([0, 1, 2], lines[1..].Select(IdOf));
    }

    [Fact(Timeout = Limit)]
    public async Task LongLines_BesideAnotherWriter_StayWhole()
    {
        await Database.ExecuteAsync("ALTER TABLE items ADD text text");

        // It writes once at least, however late it begins.
        await Shell.RunAsync("exec 3>f; { while echo other; [ ! -e end ]; do :; done; } >&3 & ");
        await Database.ExecuteAsync("INSERT INTO items SELECT i, repeat('x', i * 7) FROM generate_series(0, 999) i");
        Assert.Equal(0, (await Shell.RunAsync($"{Cdc} >&3; code=$?; touch end; wait; (exit $code)")).ExitCode);
        (int[] ids, string[] others) = await ReadAsync();
        Assert.Equal(Enumerable.Range(0, 1_000), ids);
        Assert.All(others, static line => Assert.Equal("other", line));
        Assert.NotEmpty(others);
    }

    protected override async Task<(int ExitCode, string Error)> PrepareAsync()
    {
        await Database.ExecuteAsync("CREATE TABLE items (id int PRIMARY KEY)");
        return await Shell.RunAsync($"{Cdc} --setup --tables items >/dev/null");
    }

    private Task InsertAsync(int first, int count) =>
        Database.ExecuteAsync($"INSERT INTO items SELECT generate_series({first}, {first + count - 1})");

    // The changes of the file in its order, and the lines that are none.
    private async Task<(int[] Ids, string[] Others)> ReadAsync()
    {
        string[] lines = await File.ReadAllLinesAsync(FileOf("f"), TestContext.Current.CancellationToken);
        return ([.. lines.Where(IsChange).Select(IdOf)], [.. lines.Where(static line => !IsChange(line))]);
    }

    private static bool IsChange(string line) => line.StartsWith('{');

    private static int IdOf(string line) => JsonDocument.Parse(line).RootElement.GetProperty("key").GetProperty("id").GetInt32();
}
