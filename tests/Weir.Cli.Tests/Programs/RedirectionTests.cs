using System.Globalization;
using System.Text.Json;
using Weir.Audit;
using Weir.Bench;
using Weir.Cli.App;
using Weir.Cli.Tests.Support;
using Weir.Delivery.Cli.App;

namespace Weir.Cli.Tests.Programs;

/// <summary>What programs print goes where a real shell has redirected it, after what is there already.</summary>
public sealed class RedirectionTests
{
    // Those that measure take seconds.
    public static TheoryData<string, string> Results =>
    [
        Long("weir-audit", "load --items-per-message 16 --count 100 --trials 1 --quiet --json"),
        Long("weir", "load --count 100 --trials 1 --runtime direct --quiet --json"),
        Long("weir", "run noop --workers 1 --rounds 2 --duration 20ms --quiet --json"),
        Long("weir", "doctor --json"),
    ];

    [Theory(Timeout = 300_000)]
    [InlineData("weir", "--help")]
    [InlineData("eng/bench", "--list flat", Explicit = true)]
    [InlineData("weir-work", "run --help")]
    public async Task TwoRuns_ThatPrintTheSame_LeaveItTwice(string program, string arguments)
    {
        string[] parts = await RunAsync(program, "{0} > f; {{ {0}; echo ---; {0}; echo ---; cat f; }} > all", arguments);
        Assert.NotEmpty(parts[2]);
        Assert.Equal([parts[2], parts[2], parts[2]], parts);
    }

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Results))]
    public async Task TwoRuns_WithResultsAsJson_LeaveBothResults(string program, string arguments)
    {
        string[] parts = await RunAsync(program, "{{ {0}; echo ---; {0}; }} > all", arguments);
        Assert.Equal(2, parts.Length);
        Assert.All(parts, static result => Assert.Equal(JsonValueKind.Object, JsonDocument.Parse(result).RootElement.ValueKind));
    }

    // What measures takes seconds; what only reads files needs one to read.
    public static TheoryData<string, string> Verbs =>
    [
        ("weir", "--help"),
        Long("eng/bench", "--list flat"),
        Long("weir-work", "--version"),
        ("weir-audit", "load --items-per-message 16 --count 100 --trials 1 --quiet"),
        Long("weir", "load --count 100 --trials 1 --runtime direct --quiet"),
        Long("weir", "run noop --workers 1 --rounds 2 --duration 20ms --quiet"),
        Long("weir", "scale noop --workers 1,2 --rounds 1 --duration 50ms --quiet"),
        Long("weir", "hash --input files --files 2 --size 64KiB --cache warm --workers 1 --arms sync --rounds 1 --quiet"),
        Long("weir", "doctor --quiet"),
        Long("weir", "history"),
    ];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Verbs))]
    public async Task Output_ThatTakesNoMore_IsSaidAndNoSuccess(string program, string arguments)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The shell is one of Unix.");
        using TemporaryDirectory folder = new();
        await using Shell shell = new(folder.Path);
        string path = ProgramOf(program);
        if (arguments == "history")
        {
            (int code, string text) = await shell.RunAsync(
                "git init -q . && git -c user.name=weir -c user.email=weir@localhost commit -q --allow-empty -m first && "
                + $"{path} run noop --workers 1 --rounds 2 --duration 20ms --quiet --keep > kept");
            Assert.True(code == 0, text);
        }

        (_, string error) = await shell.RunAsync(Shell.WithoutOutput($"{path} {arguments}"));
        Assert.Contains($"{program}: The output cannot be written: No space left on device.", error, StringComparison.Ordinal);
        Assert.Contains($"{program}: The output cannot be written: Broken pipe.", error, StringComparison.Ordinal);
        Assert.Equal(2, error.Split("exit code 1").Length - 1);
    }

    private static string ProgramOf(string name) => Shell.Program(name switch
    {
        WorkApp.Name => typeof(WorkApp),
        AuditApp.Name => typeof(AuditApp),
        BenchApp.Name => typeof(BenchApp),
        _ => typeof(WeirApp),
    });

    private static TheoryDataRow<string, string> Long(string program, string arguments) => new(program, arguments) { Explicit = true };

    // What a line of the shell left in the file "all", in parts. The line has the command at {0}.
    private static async Task<string[]> RunAsync(string program, string line, string arguments)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The shell is one of Unix.");
        using TemporaryDirectory folder = new();
        await using Shell shell = new(folder.Path);
        string command = $"{ProgramOf(program)} {arguments}";
        await shell.RunAsync(string.Format(CultureInfo.InvariantCulture, line, command));
        return (await File.ReadAllTextAsync(folder.File("all"), TestContext.Current.CancellationToken)).Split("---\n");
    }
}
