using Weir.Cli.Commands.Load;
using Weir.Cli.Runtimes;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.TestKit;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadRunTests
{
    [Theory(Timeout = 300_000)]
    [InlineData(Fault.Missing, true, @"accounted for 99 items instead of 100\.$")]
    [InlineData(Fault.NotRun, true, @"accounted for 99 items instead of 100 \(item 42 ended as NotRun\)\.$")]
    [InlineData(Fault.Wrong, true, @"gave the checksum [0-9a-f]{16} instead of [0-9a-f]{16}\.$")]
    [InlineData(Fault.Swapped, true, @"gave the checksum [0-9a-f]{16} instead of [0-9a-f]{16}\.$")]
    [InlineData(Fault.Failing, true, @"accounted for 99 items instead of 100 \(item 42 ended as Failed with IOException: The disk is full\)\.$")]
    [InlineData(Fault.Missing, false, @"accounted for 99 items instead of 100\.$")]
    [InlineData(Fault.NotRun, false, @"accounted for 99 items instead of 100 \(item 42 ended as NotRun\)\.$")]
    [InlineData(Fault.Wrong, false, @"gave the checksum [0-9a-f]{16} instead of [0-9a-f]{16}\.$")]
    [InlineData(Fault.Swapped, false, @"gave the checksum [0-9a-f]{16} instead of [0-9a-f]{16}\.$")]
    public async Task Load_BrokenRuntime_SaysWhatIsWrongAndExitsWith3(Fault fault, bool orderedOutput, string sentence)
    {
        CliUnderTest cli = new()
        {
            CreateRuntime = choice => choice.Kind == RuntimeKind.Concurrent ? new TamperedRuntime(fault, victim: 42) : choice.Create(),
        };

        LoadResult result = await cli.RunAsync($"load --count 100 --batch-size 30 --warmup 0 --json --preserve-order {orderedOutput}");

        Assert.Equal(3, result.ExitCode);
        string line = result.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries)[^1].TrimEnd();
        Assert.StartsWith("weir: The results are wrong: concurrent ", line, StringComparison.Ordinal);
        Assert.Matches(sentence, line);
        Assert.Empty(result.Out);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("true", 0)]
    [InlineData("false", 4)]
    public async Task Load_PreserveOrder_DecidesBetweenArrayAndStream(string orderedOutput, int streams)
    {
        RecordingRuntime runtime = new();
        CliUnderTest cli = new() { CreateRuntime = _ => runtime };

        LoadResult result = await cli.RunAsync($"load --count 100 --batch-size 30 --warmup 0 --runtime parallel --trials 1 --preserve-order {orderedOutput}");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(streams, runtime.Streams);
        Assert.Equal([30, 30, 30, 10], runtime.Batches);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("true")]
    [InlineData("false")]
    public async Task Load_RealRuntimes_AreVerifiedInEitherForm(string orderedOutput)
    {
        LoadResult result = await CliUnderTest.LoadAsync($"--count 5003 --batch-size 100 --preserve-order {orderedOutput} --parallel-size 3 --trials 2 --json");

        Assert.Equal(0, result.ExitCode);
        Assert.All(result.Figures.Values, static one => Assert.Equal(5003, one!.Processed));
        Assert.Single(result.Figures.Values.Select(static f => f!.Checksum).Distinct());
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Batches_ShareTheirMemory()
    {
        RecordingRuntime runtime = new();
        CliUnderTest cli = new() { CreateRuntime = _ => runtime };

        await cli.RunAsync("load --count 100000 --batch-size 30 --warmup 0 --runtime direct --trials 2");

        Assert.Equal(2 * 3334, runtime.Batches.Count);
        Assert.Equal(2, runtime.Lists.Count);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Warmup_RunsThatManyItemsBeforeTheTrials()
    {
        RecordingRuntime runtime = new();
        CliUnderTest cli = new() { CreateRuntime = _ => runtime };

        await cli.RunAsync("load --count 100 --warmup 7 --runtime direct --trials 1");

        Assert.Equal([7, 100], runtime.Batches);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Timeout_IsTheLimitOfEachItem()
    {
        RecordingRuntime runtime = new();
        CliUnderTest cli = new() { CreateRuntime = _ => runtime };

        await cli.RunAsync("load --count 10 --warmup 0 --runtime direct --trials 1 --timeout 2.5");

        Assert.Equal(TimeSpan.FromSeconds(2.5), Assert.Single(runtime.Options)!.PerItemTimeout);
        Assert.Null(runtime.Options[0]!.TotalTimeout);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_StoppedInTheMiddleOfAPass_ReportsWhatWasDoneAsPartial()
    {
        using CancellationTokenSource stop = new();
        CliUnderTest cli = new() { Stop = stop.Token, CreateRuntime = _ => new StoppingRuntime(stop, call: 4) };

        LoadResult result = await cli.RunAsync("load --count 100 --batch-size 10 --warmup 0 --runtime concurrent --details");

        Assert.Equal(130, result.ExitCode);
        Assert.Equal("40", result.Value("processed"));
        Assert.Equal(["true", "true"], result.Values("partial"));
        Assert.Equal("none (no pass was completed)", result.Value("checksum"));
        Assert.Contains("concurrent (partial)", result.Out, StringComparison.Ordinal);
        Assert.EndsWith($"weir: stopped; the completed part is reported as partial.{Environment.NewLine}", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_StoppedInALaterTrial_KeepsTheCompleteOnes()
    {
        using CancellationTokenSource stop = new();
        CliUnderTest cli = new()
        {
            Stop = stop.Token,
            CreateRuntime = choice => choice.Kind == RuntimeKind.Direct ? new StoppingRuntime(stop, call: 24) : choice.Create(),
        };

        LoadResult result = await cli.RunAsync("load --count 100 --batch-size 10 --warmup 0 --json");

        Assert.Equal(130, result.ExitCode);
        Assert.True(result.File.Partial);
        Assert.Equal(100, result.Figures["direct"]!.Processed);
        Assert.Equal([false, false, true], result.File.Arms[0].Rounds.Select(static r => r.Partial));
        Assert.Equal(200, result.File.Arms[0].Counted.Sum(static r => r.Operations));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("")]
    [InlineData("--json")]
    public async Task Load_StoppedBeforeTheFirstTrial_ReportsNothingDone(string form)
    {
        CliUnderTest cli = new() { Stop = new CancellationToken(canceled: true) };

        LoadResult result = await cli.RunAsync($"load --count 100 --details {form}");

        Assert.Equal(130, result.ExitCode);
        if (form.Length > 0)
        {
            Assert.Equal([null, null, null, null], result.Figures.Values);
        }
        else
        {
            Assert.Equal(["0", "0", "0", "0"], result.Values("processed"));
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Window_RepeatsThePassUntilItIsOver()
    {
        ManualTimeProvider clock = new();
        CliUnderTest cli = new()
        {
            Window = TimeSpan.FromMilliseconds(300),
            Clock = clock,
            CreateRuntime = _ => new RecordingRuntime { OnCall = () => clock.Advance(TimeSpan.FromMilliseconds(100)) },
        };

        LoadResult result = await cli.RunAsync("load --count 10 --runtime direct --trials 1 --json");

        RoundRecord round = result.File.Arms[0].Rounds[0];
        Assert.Equal(0.3, round.Seconds, 6);
        Assert.Equal(3, round.Passes);
        Assert.Equal(30, round.Operations);
        Assert.Equal(10, result.Figures["direct"]!.Processed);
    }

    [Fact]
    public void From_LastBatch_HasTheRestOfTheItems()
    {
        ItemBatches batches = new(7, 3);

        Assert.Equal([0, 1, 2], batches.From(0));
        Assert.Equal([3, 4, 5], batches.From(3));
        Assert.Equal([6], batches.From(6));
        Assert.Same(batches.From(0), batches.From(3));
    }
}
