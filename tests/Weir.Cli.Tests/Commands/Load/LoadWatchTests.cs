using Spectre.Console;
using Spectre.Console.Rendering;
using Weir.Cli.Commands.Load;
using Weir.Cli.Kit.Formatting;
using Weir.Cli.Tests.Support;
using Weir.Lab.Trials;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadWatchTests
{
    [Fact(Timeout = 300_000)]
    public async Task Watch_WithoutATerminal_WritesALineAWindowWithWhatHappened()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--count 1000 --trials 2 --runtime all --peers --fail-rate 0.1 --watch --details");
        Assert.Equal(0, result.ExitCode);

        // A round that lasts longer than a second has lines of its own before it is done.
        string[] lines = [.. result.Error.Split('\n').Where(static l => l.Contains(" of 2 done: ", StringComparison.Ordinal))];
        Assert.Equal(2 * 10, lines.Length);
        Assert.All(lines, static l =>
            Assert.Matches(@"^[^,]+, [12] of 2 done: [0-9.]+( [kMG])?/s, p50 \S+ [num]?s, p99 \S+ [num]?s, max \S+ [num]?s, errors [1-9][0-9,]*\r?$", l));
        Assert.Contains("watched=true", result.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Watch_OnATerminal_DrawsATableAndLeavesTheResultsAlone()
    {
        CliUnderTest cli = new() { IsTerminal = true };
        LoadResult result = await cli.RunAsync("load --count 1000 --trials 1 --runtime concurrent --watch --json");
        Assert.Equal(0, result.ExitCode);
        Assert.StartsWith("{", result.Out, StringComparison.Ordinal);
        Assert.Contains("\"watched\": \"true\"", result.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Meter_AroundWorkThatWaitsThrowsOrFails_CountsEachOnce()
    {
        WatchMeter meter = new();
        TaskCompletionSource<int> gate = new();
        Func<int, CancellationToken, ValueTask<int>> work = meter.Around((x, _) => x switch
        {
            0 => new ValueTask<int>(0),
            1 => new ValueTask<int>(gate.Task),
            2 => throw new FormatException(),
            _ => ValueTask.FromException<int>(new FormatException()),
        });
        Assert.Equal(0, await work(0, TestContext.Current.CancellationToken));
        Task<int> waiting = work(1, TestContext.Current.CancellationToken).AsTask();
        Assert.Equal((1, 1, 0), (meter.Ended, meter.InFlight, meter.Errors));
        await Assert.ThrowsAsync<FormatException>(async () => await work(2, TestContext.Current.CancellationToken));
        await Assert.ThrowsAsync<FormatException>(async () => await work(3, TestContext.Current.CancellationToken));
        gate.SetResult(1);
        Assert.Equal(1, await waiting);
        Assert.Equal((4, 0, 2), (meter.Ended, meter.InFlight, meter.Errors));
        Assert.Equal(4, meter.Latencies().Count);
        meter.Clear();
        Assert.Equal((4, 0), (meter.Ended, meter.Errors));
        Assert.Equal(0, meter.Latencies().Count);
    }

    [Fact]
    public void Table_OfARunningAndAWaitingArm_HasTheFiguresOfTheOneAndDashesForTheOther()
    {
        WatchMeter meter = new();
        WatchedArm running = new("concurrent", 100, meter);
        TrialArm arm = new("concurrent", new PassResult(1, 1), static _ => default);
        running.Begin(new TrialStep(arm, 2, 5, 3, 12));
        _ = meter.Around(static (_, _) => new ValueTask<int>(1))(1, TestContext.Current.CancellationToken);
        running.Refresh();
        string text = Text(LoadWatch.TableOf([running, new WatchedArm("direct", 1, new WatchMeter())]));
        Assert.Contains("round 2 of 5", text, StringComparison.Ordinal);
        string[] cells = [.. text.Split('\n')
            .First(static l => l.Contains("direct", StringComparison.Ordinal))
            .Split('│', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)];
        Assert.Equal(["direct", "waiting", "-", "-", "1", "-", "-", "-", "-"], cells);
    }

    private static string Text(IRenderable what)
    {
        using StringWriter text = new();
        IAnsiConsole console = Consoles.Create(text, isTerminal: false);
        console.Profile.Width = 200;
        console.Write(what);
        return text.ToString();
    }
}
