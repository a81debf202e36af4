using System.Diagnostics;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Run;

/// <summary>Code of a user that prints, reads, hangs or leaves, in a measuring process.</summary>
public class AwkwardMethodTests
{
    private static readonly int[] FineOrUnfit = [0, 3];

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_MethodThatPrints_IsMeasuredAndItsTextIsPassedOn()
    {
        LoadResult result = await RunAsync("Printing", "--rounds 2 --duration 20ms --quiet --json");

        Assert.True(FineOrUnfit.Contains(result.ExitCode), result.Error);
        Assert.Equal(2, Assert.Single(ResultJson.Parse(result.Out, "output").Arms).Rounds.Count);
        Assert.Contains("It prints on the output.\n", result.Error, StringComparison.Ordinal);
        Assert.Contains("more lines.", result.Error, StringComparison.Ordinal);
        Assert.InRange(result.Error.Count(static c => c == '\n'), 2, 30);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_MethodThatReads_FindsTheEndOfTheInput()
    {
        LoadResult result = await RunAsync("Reading", "--rounds 1 --duration 20ms --quiet --json");

        Assert.Equal(0, Assert.Single(Assert.Single(ResultJson.Parse(result.Out, "output").Arms).Rounds).Failures);
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData("Hanging", "end its first operation")]
    [InlineData("HangingAsync", "end its first operation")]
    [InlineData("HangingLate", "(end its first operation|end an operation in the window|end its last operation|stop)")]
    public async Task Run_MethodThatHangs_IsGivenUpAfterTheTimeout(string method, string what)
    {
        long start = Stopwatch.GetTimestamp();

        // Far more rounds than are needed until a method hangs, however slow the machine is. Where in its round it hangs depends on that too: what a worker
        // does beyond the end of a round is not of the round, and then it does not stop.
        LoadResult result = await RunAsync(method, "--rounds 500 --duration 300ms --timeout 1s --json");

        Assert.Equal(3, result.ExitCode);
        Assert.Matches($"the measurement is invalid: {method} x 2: A worker did not .*{what} within 1 s", result.Error);
        Assert.Contains("within 1 s", Assert.Single(ResultJson.Parse(result.Out, "output").Arms).Rounds[^1].Problem, StringComparison.Ordinal);
        Assert.True(Stopwatch.GetElapsedTime(start).TotalSeconds >= 1);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_MethodThatHangs_SaysWhatIsWaitedForAndEndsWithCtrlC()
    {
        LoadResult result = await RunAsync("Hanging", "--rounds 1 --quiet --timeout 10min", stopsAt: "waiting for a worker to end its first operation");

        Assert.Equal(130, result.ExitCode);
        Assert.Equal(
            "weir: Hanging x 2: waiting for a worker to end its first operation; it is abandoned after --timeout.\nweir: stopped before anything was "
                + "measured.\n",
            result.Error);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_MethodThatEndsTheProcess_IsOneClearLine()
    {
        LoadResult result = await RunAsync("Leaving", "--rounds 1 --quiet");

        Assert.Equal(1, result.ExitCode);
        Assert.Equal("weir: A measuring process ended with code 0 before everything was measured.\n", result.Error);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_MethodThatLeavesAThread_EndsAllTheSame()
    {
        LoadResult result = await RunAsync("LeavingAThread", "--rounds 1 --duration 20ms --quiet --json");

        Assert.True(FineOrUnfit.Contains(result.ExitCode), result.Error);
    }

    private static Task<LoadResult> RunAsync(string method, string options, string? stopsAt = null) =>
        new CliUnderTest { UseProcesses = true, StopsAt = stopsAt }
        .RunAsync(
            $"run --assembly {typeof(AwkwardMethods).Assembly.Location} --method Weir.Cli.Tests.Commands.Run.AwkwardMethods.{method} --workers 2 {options}");
}
