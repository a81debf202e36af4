using System.Diagnostics;
using Weir.Cli.Commands.Compare;
using Weir.Cli.Tests.Report.Page;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.Lab.Suites.Checking;

namespace Weir.Cli.Tests.Commands.Compare;

/// <summary>Two commits of a repository compared. The builds are those of the SDK that builds these tests.</summary>
public class GitCompareTests
{
    // Building costs most here, so one pair of builds shows all that becomes of two commits.
    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_TwoCommitsWithAFilter_BuildsMeasuresWhatMatchesInBothAndLeavesNothingBehind()
    {
        using TemporaryDirectory directory = new();
        Repository(directory, ("1", "public static int Max() => 1; public static int Old() => 1;"),
            ("2", "public static int Max() => 2; public static int MaxOfNew() => 1;"));

        LoadResult result = await RunAsync(
            directory, "main~1..main", $"--workers 1 --rounds 2 --duration 10ms --summary {directory.File("summary.md")} --annotate --json",
            code: "--filter *C.M*");

        // The second commit gives another result than is expected, so that one sees which build it was.
        Assert.True(result.ExitCode == 3, result.Error);
        ResultFile compared = ResultJson.Parse(result.Out, "output");
        Assert.Equal(["M (main~1)", "M (main)", "Max (main~1)", "Max (main)"], compared.Arms.Select(static a => a.Name[..a.Name.LastIndexOf(' ')] + ")"));
        Assert.All(compared.Arms, static a => Assert.Matches("^M(ax)? \\(main(~1)? [0-9a-f]{7}\\)$", a.Name));
        Assert.All(compared.Arms[0].Rounds, static r => Assert.True(r.Problem is null || r.Disturbed, r.Problem));
        Assert.All(compared.Arms[1].Rounds, static r => Assert.Contains("It is 2.", r.Problem, StringComparison.Ordinal));
        Assert.Contains(compared.Findings, static f => f.Text.Contains("MaxOfNew", StringComparison.Ordinal));
        Assert.StartsWith("### The measurement is invalid", await File.ReadAllTextAsync(directory.File("summary.md"), TestContext.Current.CancellationToken),
            StringComparison.Ordinal);
        Assert.Contains("::error title=The measurement is invalid::", result.Error, StringComparison.Ordinal);
        AssertNothingIsLeft(directory);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_CommitThatCannotBeBuilt_SaysWhyAndLeavesNothingBehind()
    {
        using TemporaryDirectory directory = new();
        Repository(directory, "nonsense", "1");

        LoadResult result = await RunAsync(directory, "main~1..main", "");

        Assert.Equal(1, result.ExitCode);
        Assert.Matches("weir: main~1 [0-9a-f]{7} cannot be built: 2 errors, the first lib.C\\.cs\\(.*error CS0103: .*nonsense", result.Error);
        AssertNothingIsLeft(directory);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Compare_StoppedWhileItBuilds_LeavesNothingBehind()
    {
        using TemporaryDirectory directory = new();
        Repository(directory, "1", "2");

        LoadResult result = await RunAsync(directory, "main~1..main", "", stopsAt: "built main~1");

        Assert.Equal((130, "weir: stopped before anything was measured."), (result.ExitCode, result.Error.TrimEnd().Split('\n')[^1]));
        AssertNothingIsLeft(directory);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("main", "lib", "weir: --git must be two commits as before..after, such as main..HEAD; it is 'main'.\n")]
    [InlineData("main~1..main", "other", "weir: --project must be a project, or a directory with one, in both commits; main~1 ")]
    [InlineData("main..nothing", "lib", "weir: --git 'main..nothing': there is no commit 'nothing'.")]
    [InlineData("nothing..main", "lib", "weir: --git 'nothing..main': there is no commit 'nothing'.")]
    public async Task Compare_BadRange_IsOneClearLine(string range, string project, string message)
    {
        using TemporaryDirectory directory = new();
        Repository(directory, "1", "2");

        LoadResult result = await RunAsync(directory, range, "", project: project);

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith(message, result.Error, StringComparison.Ordinal);
        AssertNothingIsLeft(directory);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("compare noop noop --summary", "weir: --summary must be a file; it is ''.\n")]
    [InlineData("compare --git a..b --method M --project", "weir: --project must be a project, or a directory with one; it is ''.\n")]
    public async Task Compare_EmptyFile_IsOneClearLine(string arguments, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync([.. arguments.Split(' '), ""]);

        Assert.Equal((1, message), (result.ExitCode, result.Error));
    }

    [Fact(Timeout = 300_000)]
    public async Task Compare_GitWithoutProject_IsOneClearLine()
    {
        LoadResult result = await new CliUnderTest().RunAsync("compare --git a..b --method N.C.M");

        Assert.Equal((1, "weir: --git and --project must be used together, and select what is compared: --git main..HEAD --project src/MyLib --method "
            + "Namespace.Class.Method.\n"), (result.ExitCode, result.Error));
    }

    [Fact]
    public void Summary_OfComparisons_HasWhatIsSlowerFirst()
    {
        ComparisonRecord one = new() { Arm = "a|b (new) x 1", Against =
            "a|b (old) x 1", Ratio = 0.8, Low = 0.7, High = 0.9, P = 0.001, Margin = 0.03, Alpha = 0.01, Verdict = Lab.Statistics.Verdict.Slower };
        ResultFile result =
            SampleResults.Scaling() with { Findings = [], Comparisons = [one with { Verdict = Lab.Statistics.Verdict.Equivalent, Arm = "c" }, one] };

        string[] lines = PullRequestSummary.Markdown(result).Split('\n');

        Assert.Equal(
            "### a\\|b (new) x 1 is 1.25 times slower than a\\|b (old) x 1: 1.11 to 1.43, p = 0.001; of 2 compared: 1 SLOWER, 1 EQUIVALENT.", lines[0]);
        Assert.Equal("| SLOWER | a\\|b (new) x 1 | a\\|b (old) x 1 | rate | 0.800x | 0.700..0.900 | - |", lines[6]);
        Assert.Equal(["::error title=a|b (new) x 1 is SLOWER::0.800x of a|b (old) x 1, 0.700..0.900"], PullRequestSummary.Annotations(result));
    }

    private static Task<LoadResult> RunAsync(
        TemporaryDirectory directory, string range, string options, string? stopsAt = null, string project = "lib", string code = "--method N.C.M") =>
        new CliUnderTest { UseProcesses = true, StopsAt = stopsAt }.RunAsync(
            $"compare --git {range} --project {Path.Combine(directory.File("repository"), project)} {code} {options}");

    private static void Repository(TemporaryDirectory directory, params string[] values) => Repository(directory, [.. values.Select(static v => (v, ""))]);

    private static void Repository(TemporaryDirectory directory, params (string Value, string Members)[] commits)
    {
        string root = directory.File("repository");
        Directory.CreateDirectory(Path.Combine(root, "lib"));
        Git(root, "init", "-q", "-b", "main");
        File.WriteAllText(Path.Combine(root, "Directory.Build.props"), "<Project />");
        File.WriteAllText(Path.Combine(root, "lib", "Lib.csproj"),
            $"<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFrameworks>net8.0;net{Environment.Version.Major}.0</TargetFrameworks></PropertyGroup>"
                + "</Project>");
        foreach ((string value, string members) in commits)
        {
            File.WriteAllText(Path.Combine(root, "lib", "C.cs"), $"#if NET8_0\n#error It is built for one framework only.\n#endif\nnamespace N {{ public static class C {{ public static int M() => {value} == 1 ? 1 : throw "
                + $"new System.Exception(\"It is \" + {value} + \".\"); {members} }} }}");
            Git(root, "add", "-A");
            Git(root, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "c");
        }
    }

    private static void AssertNothingIsLeft(TemporaryDirectory directory)
    {
        Assert.Single(Git(directory.File("repository"), "worktree", "list").Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.Equal("", Git(directory.File("repository"), "status", "--porcelain"));
    }

    private static string Git(string directory, params string[] arguments)
    {
        ProcessStartInfo info = new("git", ["-C", directory, .. arguments]) { RedirectStandardOutput = true };
        foreach (string own in new[] { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX" })
        {
            info.Environment.Remove(own);
        }

        using Process git = Process.Start(info)!;
        string text = git.StandardOutput.ReadToEnd();
        git.WaitForExit();
        Assert.Equal(0, git.ExitCode);
        return text;
    }
}
