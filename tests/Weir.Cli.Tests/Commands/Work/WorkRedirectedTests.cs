using System.Text.Json;
using Weir.Cli.Tests.Support;
using Weir.Delivery.Cli.App;

namespace Weir.Cli.Tests.Commands.Work;

/// <summary>What the commands over a queue print goes where a real shell has redirected it, in whole lines, or they say that it does not.</summary>
public sealed class WorkRedirectedTests(TestPostgres postgres) : RedirectedTest(postgres)
{
    private const int Limit = 300_000;

    [Theory(Timeout = Limit)]
    [InlineData("setup", Explicit = true)]
    [InlineData("publish --origin o", Explicit = true)]
    [InlineData("list")]
    [InlineData("find o/1", Explicit = true)]
    [InlineData("dead list", Explicit = true)]
    [InlineData("dead replay --all", Explicit = true)]
    public async Task TwoRuns_IntoOneFile_LeaveWholeLinesOrSaySo(string verb)
    {
        string command = $"printf 'a\\n' | {Work(verb)}";
        (int code, string error) = await Shell.RunAsync(
            $"{command} > once; {command} --json > one; for i in 1 2; do {command} >> f 2>&1; {command} --json >> json 2>&1; done; rm -f gone");
        Assert.True(code == 0, error);
        Assert.Equal(string.Concat(Enumerable.Repeat(Read("once"), 2)), Read("f"));
        Assert.Equal(string.Concat(Enumerable.Repeat(Read("one"), 2)), Read("json"));
        Assert.All(Read("json").Split('\n', StringSplitOptions.RemoveEmptyEntries), static line => JsonDocument.Parse(line));
        (_, error) = await Shell.RunAsync(Shell.WithoutOutput(command));
        Assert.Contains("weir-work: The output cannot be written: No space left on device.", error, StringComparison.Ordinal);
        Assert.Contains("weir-work: The output cannot be written: Broken pipe.", error, StringComparison.Ordinal);
        Assert.Equal(2, error.Split("exit code 1").Length - 1);
    }

    [Fact(Timeout = Limit)]
    public async Task Run_OutputTakesNoMore_KeepsTheItems()
    {
        string run = Work("run --quiet --delay 1ms");
        (_, string error) = await Shell.RunAsync(Shell.WithoutOutput(run));
        Assert.Contains("weir-work: The output cannot be written: No space left on device.", error, StringComparison.Ordinal);
        Assert.Contains("weir-work: The output cannot be written: Broken pipe.", error, StringComparison.Ordinal);
        Assert.Equal(2, error.Split("exit code 1").Length - 1);
        (int code, error) = await Shell.RunAsync(
            $": > f; {run} >> f & while [ $(wc -l < f) -lt 3 ]; do sleep 0.05; done; kill -TERM $!; wait $!");
        Assert.True(code == 0, error);
        Assert.Equal(["a", "b", "c"], Read("f").Split('\n', StringSplitOptions.RemoveEmptyEntries).Order(StringComparer.Ordinal));
    }

    protected override Task<(int ExitCode, string Error)> PrepareAsync() => Shell.RunAsync(
        $"export WEIR_QUEUE='{Database.Address}'; {Work("setup")} >/dev/null && printf 'a\\nb\\nc\\n' | {Work("publish --origin o")} > /dev/null");

    private static string Work(string verb) => $"{Shell.Program(typeof(WorkApp))} {verb}";

    private string Read(string file) => File.ReadAllText(FileOf(file));
}
