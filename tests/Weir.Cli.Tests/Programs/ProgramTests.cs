using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using Weir.Cli.App;
using Weir.Cli.Programs;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.TestKit;

namespace Weir.Cli.Tests.Programs;

/// <summary>Programs measured, with those that every Unix has.</summary>
public class ProgramTests
{
    public ProgramTests() => Assert.SkipWhen(OperatingSystem.IsWindows(), "The programs are those of Unix.");

    [Fact(Timeout = 300_000)]
    public async Task Run_TwoPrograms_TakesTurnsAndComparesThem()
    {
        LoadResult ran = await RunAsync("time", "sleep 0.01", "sleep 0.02", "--rounds", "4", "--json");

        Assert.True(ran.ExitCode == 0, ran.Error);
        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.Equal(["sleep 0.01", "sleep 0.02"], result.Arms.Select(static a => a.Name));
        Assert.Equal([1, 4, 6, 7], result.Arms[0].Rounds.Select(static r => r.Order));
        Assert.All(result.Arms[0].Rounds, static r => Assert.True(r.Seconds >= 0.01 && r.Rate == 1 / r.Seconds));
        Assert.All(result.Arms[1].Rounds, static r => Assert.True(r.Seconds >= 0.02));
        ComparisonRecord compared = Assert.Single(result.Comparisons);
        Assert.Equal(("sleep 0.02", "sleep 0.01", 4), (compared.Arm, compared.Against, compared.Pairs));

        // Of the inside of a program nothing is known, and nothing is written.
        JsonElement round = ran.Json.GetProperty("arms")[0].GetProperty("rounds")[0];
        Assert.All(new[] { "allocated_bytes", "gen0", "gc_pause_seconds", "pool_threads", "compiled_methods" },
            name => Assert.False(round.TryGetProperty(name, out _), name));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_AProgramThatComputesAndTakesMemory_TellsItsOwn()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only there is the peak of a small program found.");
        LoadResult ran = await RunAsync(
            "time", "--name", "small", "true", "--name", "large",
            "sh -c 'x=$(head -c 150000000 /dev/zero | tr \"\\0\" a); echo ${#x}'", "--rounds", "2", "--json");

        Assert.True(ran.ExitCode == 0, ran.Error);
        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.All(result.Arms[0].Rounds, static r => Assert.InRange(r.PeakResidentBytes!.Value, 1, 20_000_000));

        // A round whose peak may be this process's own has none, and this process may have grown meanwhile.
        long[] large = [.. result.Arms[1].Rounds.Select(static r => r.PeakResidentBytes).OfType<long>()];
        Assert.NotEmpty(large);
        Assert.All(large, static bytes => Assert.InRange(bytes, 150_000_000, 2_000_000_000));
        Assert.All(result.Arms[1].Rounds, static r => Assert.True(r.CpuUserSeconds + r.CpuSystemSeconds > 0.01));
    }

    [Fact(Timeout = 300_000)]
    public void RunForMemory_OfAProgramThatEndsAtOnce_IsFoundEachTime()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only there is the peak of a small program found.");
        Assert.All(Enumerable.Range(0, 50), static _ => Assert.InRange(new StartedProgram(["true"], showsOutput: false).RunForMemory() ?? 0, 1, 20_000_000));
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_ParametersAndPrepare_AreFilledInAndRunBeforeEachRun()
    {
        using TemporaryDirectory directory = new();
        string file = directory.File("lines");

        LoadResult ran = await RunAsync("time", $"grep -q {{word}} {file}", "--prepare", $"echo {{word}} >> {file}", "--param", "word=a,b",
            "--warmup", "2", "--rounds", "3", "--json");

        Assert.True(ran.ExitCode == 0, ran.Error);
        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.Equal([("a", $"grep -q a {file}"), ("b", $"grep -q b {file}")], result.Arms.Select(static a => (a.Varied["word"], a.Settings["command"])));
        Assert.All(result.Arms, static a => Assert.EndsWith($" word={a.Varied["word"]}", a.Name, StringComparison.Ordinal));
        Assert.Equal(3, result.Arms[0].Counted.Count);

        // Two to warm up, three rounds, and on Linux one for the memory.
        string[] lines = await File.ReadAllLinesAsync(file, TestContext.Current.CancellationToken);
        Assert.Equal(OperatingSystem.IsLinux() ? 6 : 5, lines.Count(static l => l == "a"));
        Assert.Equal(lines.Length, 2 * lines.Count(static l => l == "b"));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_OfAShell_ShowsWhatItsStartTakes()
    {
        LoadResult ran = await RunAsync("time", "true | cat", "--shell", "--rounds", "3", "--json");

        Assert.True(ran.ExitCode == 0, ran.Error);
        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.All(result.Arms[0].Rounds, static r => Assert.True(r.OverheadNs > 0 && r.Seconds > 0));
        Assert.Equal("sh", result.Settings["shell"]);
        Assert.Equal(result.Arms[0].Rounds.All(static r => r.OverheadSubtracted),
            !result.Findings.Any(static f => f.Text.Contains("not subtracted", StringComparison.Ordinal)));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("--shell", "true | cat")]
    [InlineData("--shell", "true | cat", "true && true")]
    [InlineData("true | cat", "--shell", "sh")]
    [InlineData("--shell", "sh", "true | cat")]
    [InlineData("--shell", "true")]
    public async Task Run_ShellBeforeTheCommands_TakesNoneOfThemForTheShell(params string[] words)
    {
        LoadResult ran = await RunAsync(["time", .. words, "--rounds", "1", "--warmup", "0", "--json"]);

        Assert.True(ran.ExitCode is 0 or 3, ran.Error);
        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.Equal("sh", result.Settings["shell"]);
        Assert.Equal([.. words.Where(static w => w.StartsWith("true", StringComparison.Ordinal))], result.Arms.Select(static a => a.Name));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("time", "Default 10 at least, and as many as fit into 3 s, 1,000 at most", "Default 10min", "Replaces {NAME} in the commands by a value")]
    [InlineData("gate", "Default 96 at most", "Default 20s", "of the workload or of your class. ")]
    public async Task Help_OfACommand_HasItsOwnDefaults(string command, string rounds, string timeout, string parameter)
    {
        LoadResult help = await RunAsync(command, "--help-all");

        string text = string.Join(' ', help.Out.Split([' ', '\n'], StringSplitOptions.RemoveEmptyEntries));
        Assert.All([rounds, timeout, parameter], part => Assert.Contains(part.TrimEnd(), text, StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_AProgramThatFails_IsInvalidUnlessThatIsIgnored()
    {
        LoadResult failed = await RunAsync("time", "sh -c 'exit 3'", "--rounds", "2");
        LoadResult ignored = await RunAsync("time", "sh -c 'exit 3'", "--rounds", "2", "--ignore-failure");
        LoadResult killed = await RunAsync("time", "kill -9 $$", "--shell", "--rounds", "2");

        Assert.Equal(3, failed.ExitCode);
        Assert.EndsWith("sh -c 'exit 3' ended with exit code 3: --show-output shows its output, and --ignore-failure accepts the exit code.\n", failed.Error,
            StringComparison.Ordinal);
        Assert.True(ignored.ExitCode == 0, ignored.Error);
        Assert.Contains("was ended by signal 9", killed.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_AProgramThatDoesNotEnd_IsGivenUpWithAllThatItStarted()
    {
        using TemporaryDirectory directory = new();
        string fifo = Fifo(directory);
        Task<string> started = ReadAsync(fifo);

        LoadResult ran = await RunAsync("time", $"sh -c 'sleep 3000 & echo $! > {fifo}; wait'", "--timeout", "6s");

        Assert.Equal(3, ran.ExitCode);
        Assert.Contains("runs for more than 5 s; it is abandoned after --timeout (6 s).", ran.Error, StringComparison.Ordinal);
        Assert.Contains("did not end within 6 s and was abandoned; --timeout gives it more time.", ran.Error, StringComparison.Ordinal);
        await EndsAsync(await started);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_Stopped_KillsTheProgramWithAllThatItStarted()
    {
        using TemporaryDirectory directory = new();
        string fifo = Fifo(directory);
        using CancellationTokenSource stop = new();
        Task<LoadResult> running =
            new CliUnderTest { Stop = stop.Token }.RunAsync(["time", $"sh -c 'setsid sleep 3000 & echo $! > {fifo}; wait'", "--timeout", "60min"]);
        string started = await ReadAsync(fifo);

        await stop.CancelAsync();

        LoadResult ran = await running;
        Assert.Equal((130, "weir: stopped before anything was measured."), (ran.ExitCode, ran.Error.TrimEnd().Split('\n')[^1]));
        await EndsAsync(started);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_StoppedAfterARound_ReportsItAsPartial()
    {
        LoadResult ran = await new CliUnderTest { StopsAt = "[2/5000]" }.RunAsync(["time", "true", "--rounds", "5000", "--json"]);

        Assert.Equal(130, ran.ExitCode);
        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.True(result.Partial);
        Assert.InRange(result.Arms[0].Counted.Count, 2, 4_999);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_FailOnSlower_EndsWithTwoWhenOneIsSlower()
    {
        using TemporaryDirectory directory = new();

        string[] words = ["time", "true", "sleep 0.05", "--name", "A", "--name", "B", "--rounds", "8", "--json"];

        LoadResult ran = await RunAsync(
            [.. words, "--export", "md,csv,json,html", "--out", directory.Path, "--summary", directory.File("summary.md"), "--fail-on", "slower"]);
        LoadResult allowed = await RunAsync([.. words, "--margin", "90%", "--fail-on", "inconclusive"]);
        LoadResult shown = await RunAsync(words);

        ResultFile result = ResultJson.Parse(ran.Out, "output");
        Assert.Equal(result.Comparisons.Single().Verdict == Verdict.Slower ? 2 : 0, ran.ExitCode);
        Verdict wide = ResultJson.Parse(allowed.Out, "output").Comparisons.Single().Verdict;
        Assert.Equal(wide switch { Verdict.Slower => 2, Verdict.Inconclusive => 4, _ => 0 }, allowed.ExitCode);
        Assert.Equal(0, shown.ExitCode);
        Assert.All(new[] { "weir-time.md", "weir-time.html" },
            name => Assert.Contains("Programs (a run)", File.ReadAllText(directory.File(name)), StringComparison.Ordinal));
        Assert.Equal(17, File.ReadAllLines(directory.File("weir-time.csv")).Length);
        Assert.Contains("B", await File.ReadAllTextAsync(directory.File("summary.md"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("", false)]
    [InlineData("--show-output", true)]
    public async Task Program_Prints_OnlyWhenAskedAndNeverIntoTheResult(string option, bool shows)
    {
        ProcessStartInfo info = new("dotnet", [typeof(WeirApp).Assembly.Location, "time", "echo hello", "--rounds", "2", "--json", "--quiet",
            .. option.Split(' ', StringSplitOptions.RemoveEmptyEntries)])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process program = Process.Start(info)!;
        Task<string> output = program.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        string errors = await program.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        await program.WaitForExitAsync(TestContext.Current.CancellationToken);

        Assert.True(program.ExitCode == 0, errors);
        Assert.Equal(2, ResultJson.Parse(await output, "output").Arms[0].Counted.Count);
        Assert.Equal(shows, errors.Contains("hello\n", StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000)]
    public async Task Time_AProgramAfterDashes_HasItsWordsAsTheyAreAndTheTimesOfItsRuns()
    {
        LoadResult ran = await RunAsync("time", "--rounds", "4", "--quiet", "--json", "--", "sh", "-c", "test \"$0\" = \"it's a|b\"; sleep 0.01", "it's a|b");

        Assert.True(ran.ExitCode == 0, ran.Error);
        using JsonDocument json = JsonDocument.Parse(ran.Out);
        JsonElement times = json.RootElement.GetProperty("summary")[0].GetProperty("run");
        Assert.InRange(times.GetProperty("mean_seconds").GetDouble(), 0.01, 60);
        Assert.InRange(
            times.GetProperty("median_seconds").GetDouble(), times.GetProperty("min_seconds").GetDouble(), times.GetProperty("max_seconds").GetDouble());
        Assert.InRange(times.GetProperty("deviation_seconds").GetDouble(), 1e-9, 60);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("time nosuchprogram", "The program 'nosuchprogram' could not be started: No such file or directory.")]
    [InlineData("time true --workers 3", "'--workers' is no option of time; what belongs to a program goes into its quotes, or after --.")]
    [InlineData("time", "COMMAND must be a program and its arguments, in quotes or after --, such as 'grep -c x file.txt'; it is absent.")]
    [InlineData("time --shell", "COMMAND must be a program and its arguments, in quotes or after --, such as 'grep -c x file.txt'; it is absent.")]
    [InlineData("time true -- true", "COMMAND must be one program after --, or programs in quotes without --; there are both.")]
    [InlineData("run --command true", "'weir run --command' is 'weir time' now.")]
    [InlineData("compare --command true", "'weir compare --command' is 'weir time' now.")]
    [InlineData("time true true --fail-on faster", "--fail-on must be slower or inconclusive; it is 'faster'.")]
    [InlineData("time true --warmup 1001", "--warmup must be a whole number from 0 to 1,000; it is '1001'.")]
    [InlineData("time true --timeout 5", "--timeout must be a time from 100 ms to 3600 s such as 10min; it is '5'.")]
    [InlineData("time true --param x=1", "--param x is used in no command: write {x} where its value belongs.")]
    [InlineData("time true --name a --name b", "--name must be given once for each COMMAND, with different names; there are 2 names and 1 commands.")]
    [InlineData("time true --prepare a --prepare b", "--prepare must be given once for all commands, or once for each; there are 2 for 1 commands.")]
    [InlineData("time true --prepare false", "--prepare 'false' ended with exit code 1: the run that it prepares is not measured.")]
    [InlineData("time true --warmup 0 --ignore-failure --shell false", "The shell 'false' of --shell ended with exit code 1 when it had nothing to do.")]
    public async Task Command_BadInput_IsOneClearLine(string arguments, string message)
    {
        LoadResult ran = await new CliUnderTest().RunAsync(
            arguments.Contains(" -- ", StringComparison.Ordinal) ? arguments : arguments + " --quiet");

        Assert.Equal((1, $"weir: {message}\n"), (ran.ExitCode, ran.Error));
    }

    private static Task<LoadResult> RunAsync(params string[] arguments) => new CliUnderTest().RunAsync(arguments);

    // To open it waits for the writer.
    private static Task<string> ReadAsync(string fifo) =>
        Task.Factory.StartNew(() => File.ReadAllText(fifo), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private static string Fifo(TemporaryDirectory directory)
    {
        string path = directory.File("pid");
        using Process make = Process.Start("mkfifo", [path]);
        make.WaitForExit();
        return path;
    }

    // A process that nobody has taken the account of is still listed, though it has ended.
    private static Task EndsAsync(string program)
    {
        string file = $"/proc/{int.Parse(program, CultureInfo.InvariantCulture)}/stat";
        return Guard.UntilAsync(() => !Directory.Exists("/proc/self") || StateOf(file) is null or 'Z', $"The end of process {program}");
    }

    private static char? StateOf(string file)
    {
        try
        {
            string text = File.ReadAllText(file);
            return text[text.LastIndexOf(')') + 2];
        }
        catch (IOException)
        {
            return null;
        }
    }
}
