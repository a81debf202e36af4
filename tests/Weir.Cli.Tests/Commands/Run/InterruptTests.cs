using System.Diagnostics;
using System.Runtime.InteropServices;
using Weir.Cli.App;
using Weir.Cli.Tests.Support;
using Weir.Cli.Tests.UserCode;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Run;

/// <summary>Ctrl-C after the first round of far more than would end in the test's time.</summary>
public partial class InterruptTests
{
    private const int Interrupt = 2;

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("run noop --workers 2 --rounds 5000 --duration 50ms", 5000)]
    [InlineData("scale noop --workers 1,2 --rounds 5000 --duration 50ms", 10_000)]
    [InlineData("compare noop yield --rounds 5000 --duration 50ms", 10_000)]
    [InlineData("hash --input DIR/in --files 4 --size 8KiB --cache warm --arms sync,async --rounds 5000", 10_000)]
    public async Task Command_StoppedAfterTheFirstRound_ReportsItAsPartial(string arguments, int rounds)
    {
        using TemporaryDirectory directory = new();
        arguments = arguments.Replace("DIR", directory.Path, StringComparison.Ordinal);

        LoadResult result = await new CliUnderTest { UseProcesses = true, StopsAt = $"[1/{rounds}]" }
            .RunAsync($"{arguments} --json --export json,md --out {directory.File("out")}");

        ResultFile partial = ResultJson.Parse(result.Out, "output");
        Assert.True(partial.Partial);
        Assert.InRange(partial.Arms.Sum(static a => a.Rounds.Count), 1, rounds - 1);
        Assert.True(ResultJson.Read(Directory.EnumerateFiles(directory.File("out"), "*.json").Single()).Partial);
        Assert.Contains("**Partial", await File.ReadAllTextAsync(
            Directory.EnumerateFiles(directory.File("out"), "*.md").Single(), TestContext.Current.CancellationToken), StringComparison.Ordinal);

        // Conditions that were not fit to measure in are said first.
        if (!partial.Has(FindingLevel.Invalid))
        {
            Assert.Equal(130, result.ExitCode);
            Assert.EndsWith("weir: stopped; the completed part is reported as partial.\n", result.Error, StringComparison.Ordinal);
        }
    }

    // Its object takes longer to end than a measuring process does on a machine with nothing else to do.
    [Fact(Timeout = 300_000)]
    public async Task Program_GetsTheSignal_ReportsAndEnds()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");
        // Programs that a script started in the background have the signal ignored, and so has what they start, unless it is told otherwise.
        string arguments = $"run --assembly {typeof(Lingering).Assembly.Location} --method Lingering.Call --workers 2 --rounds 5000 --duration 50ms --json";
        string[] command = ["dotnet", typeof(WeirApp).Assembly.Location, .. arguments.Split(' ')];
        string[] start = OperatingSystem.IsLinux() ? ["env", "--default-signal=INT", .. command] : command;
        using Process program = Process.Start(
            new ProcessStartInfo(start[0], start[1..]) { RedirectStandardOutput = true, RedirectStandardError = true })!;
        Task<string> output = program.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        while (await program.StandardError.ReadLineAsync(TestContext.Current.CancellationToken) is { } line
            && !line.StartsWith("[1/", StringComparison.Ordinal))
        {
        }

        Assert.Equal(0, Kill(program.Id, Interrupt));
        Task<string> rest = program.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        await program.WaitForExitAsync(TestContext.Current.CancellationToken);

        string said = await rest;
        Assert.True((await output).Length > 0, said);
        ResultFile partial = ResultJson.Parse(await output, "output");
        Assert.True(partial.Partial, said);
        Assert.NotEmpty(Assert.Single(partial.Arms).Rounds);
        Assert.Contains(program.ExitCode, new[] { 130, 3 });
    }

    [LibraryImport("libc", EntryPoint = "kill")]
    private static partial int Kill(int process, int signal);
}
