using System.Text.Json;
using Weir.Cli.Commands.Scale;
using Weir.Cli.Tests.Report.Page;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Run;

/// <summary>What is measured is checked, not how fast it is.</summary>
public class RunTests
{
    private const string Short = "--rounds 1 --duration 20ms --quiet --json";

    // 3 is the code of conditions that were not fit: a busy machine compiles code for long.
    private static readonly int[] FineOrUnfit = [0, 3];

    [Theory(Timeout = 300_000)]
    [InlineData("noop --workers 2", Explicit = true)]
    [InlineData("cpu --workers 2 --grain 5us")]
    [InlineData("io --workers 3", Explicit = true)]
    [InlineData("delay --workers 3", Explicit = true)]
    [InlineData("yield --workers 3", Explicit = true)]
    [InlineData("channel --workers 2", Explicit = true)]
    [InlineData("channel --groups producers:1,consumers:2")]
    [InlineData("lock --workers 2", Explicit = true)]
    [InlineData("hash --workers 2", Explicit = true)]
    [InlineData("http --workers 2", Explicit = true)]
    [InlineData("dataflow --workers 2", Explicit = true)]
    [InlineData("dataflow-inbox --workers 2", Explicit = true)]
    [InlineData("io --workers 4 --rate 200/s --max-inflight 50")]
    public async Task Run_EachWorkload_DoesItsWorkRight(string arguments)
    {
        ResultFile result = await RunAsync($"run {arguments} {Short}");

        ArmRecord arm = Assert.Single(result.Arms);
        RoundRecord round = Assert.Single(arm.Rounds);
        Assert.False(round.Partial);
        Assert.True(round.Problem is null || round.Disturbed, round.Problem);
        Assert.Equal(0, round.Failures);
        Assert.Equal(arguments.Split(' ')[0], arm.Name);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("Nothing", Explicit = true)]
    [InlineData("Number", Explicit = true)]
    [InlineData("TaskAsync", Explicit = true)]
    [InlineData("TaskOfAsync")]
    [InlineData("ValueTaskAsync", Explicit = true)]
    [InlineData("ValueTaskOfAsync", Explicit = true)]
    [InlineData("Stoppable")]
    public async Task Run_MethodOfAnyShape_IsMeasured(string method)
    {
        ResultFile result = await RunAsync(
            $"run --assembly {typeof(SampleMethods).Assembly.Location} --method Weir.Cli.Tests.Commands.Run.SampleMethods.{method} --workers 2 {Short}");

        RoundRecord round = Assert.Single(Assert.Single(result.Arms).Rounds);
        Assert.True(round.Problem is null || round.Disturbed, round.Problem);
        Assert.True(round.Operations > 0);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_TwoMethodsInGroups_AreBothMeasured()
    {
        string name = "Weir.Cli.Tests.Commands.Run.SampleMethods.";

        ResultFile result =
            await RunAsync($"run --assembly {typeof(SampleMethods).Assembly.Location} --method {name}Number,{name}Nothing --groups Number:1,Nothing:2 {Short}");

        Assert.Equal(3, Assert.Single(Assert.Single(result.Arms).Rounds).PerWorker.Count);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_MethodThatThrows_IsInvalid()
    {
        LoadResult result = await new CliUnderTest().RunAsync(
            $"run --assembly {typeof(SampleMethods).Assembly.Location} --method Weir.Cli.Tests.Commands.Run.SampleMethods.Throwing --workers 1 {Short}");

        Assert.Equal(3, result.ExitCode);
        Assert.Contains("It is broken.", result.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Run_WithARate_KeepsBothLatencies()
    {
        ResultFile result = await RunAsync($"run io --workers 4 --rate 500/s --rounds 2 --duration 50ms --quiet --json");

        Assert.All(result.Arms[0].Rounds, static r => Assert.NotNull(r.Response));
        Assert.All(result.Arms[0].Rounds, static r => Assert.NotNull(r.Service));
    }

    [Fact(Timeout = 300_000)]
    public async Task Scale_TimeIsOver_EndsWithAllNumbersMeasuredAsOften()
    {
        // All rounds would take two seconds on any machine.
        ResultFile result = await RunAsync("scale noop --workers 1,2 --rounds 50 --duration 20ms --within 1s --fit none --quiet --json");
        Assert.InRange(result.Arms[0].Rounds.Count, 2, 49);
        Assert.Equal(result.Arms[0].Rounds.Count, result.Arms[1].Rounds.Count);
        Assert.Contains(result.Findings, static f => f.Text.Contains("because its time was up", StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Scale_FewWorkers_RefusesTheLaw()
    {
        ResultFile result = await RunAsync("scale noop --workers 1,2,3 --rounds 1 --duration 20ms --quiet --json");

        Assert.Equal([1, 2, 3], result.Arms.Select(static a => a.Workers));
        if (result.Fits is [var fit])
        {
            // Of a worker count whose only round was left out nothing is known.
            Assert.True(fit.Refused is "No round counted." || fit.Refused!.Contains("a law needs at least 4", StringComparison.Ordinal), fit.Refused);
        }
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Scale_InProcessesThatStay_MeasuresEachNumberAsOften()
    {
        LoadResult result =
            await new CliUnderTest { UseProcesses = true }.RunAsync("scale yield --workers 1,3 --rounds 2 --duration 20ms --fit none --quiet --json");

        Assert.True(FineOrUnfit.Contains(result.ExitCode), result.Error);
        ResultFile scaled = ResultJson.Parse(result.Out, "output");
        Assert.All(scaled.Arms, static a => Assert.Equal([1, 2], a.Rounds.Select(static r => r.Process!.Value)));
        Assert.Equal([1, 2, 3, 4], scaled.Arms.SelectMany(static a => a.Rounds).Select(static r => r.Order).Order());
    }

    [Fact]
    public void PeakAtFewest_RateThatOnlyFalls_SaysThatNoLawCanBeFitted()
    {
        string? Peak(params double[][] rates) => ScaleTurns.PeakAtFewest([.. rates.Select(static (r, i) => (1 << i, (IReadOnlyList<double>)r))]);

        Assert.Equal(
            "Every round with 1 worker was faster than any with more (at least 44.0 M against at most 23.0 M operations/s): the rate only falls, so there "
            + "is no "
            + "rise to fit a scaling law to. The run ended after 2 rounds each; --fit none measures all of them.",
            Peak([45e6, 44e6], [23e6, 15e6], [12e6, 11e6]));
        Assert.Null(Peak([45e6], [23e6]));
        Assert.Null(Peak([45e6, 44e6], [44.5e6, 23e6]));
        Assert.Null(Peak([45e6, 44e6]));
    }

    [Fact]
    public void Fitted_RatesOfTheLaw_FindsIt()
    {
        ArmRecord[] arms = [.. new[] { 1, 2, 4, 8, 16, 32, 64 }.Select(static n => new ArmRecord
        {
            Name = "x",
            Workers = n,
            Rounds = [.. new[] { 0.999, 1, 1.001 }.Select(
                f => new RoundRecord { Operations = 1, Seconds = 1, Rate = f * 1000 * n / (1 + (0.02 * (n - 1)) + (0.001 * n * (n - 1))) })],
        })];

        ResultFile fitted = ScalingFits.Fitted(SampleResults.Scaling() with { Arms = arms, Fits = [], Findings = [] });

        FitRecord fit = Assert.Single(fitted.Fits);
        Assert.Null(fit.Refused);
        Assert.Equal(0.02, fit.Sigma.Value, 2);
        Assert.Equal(0.001, fit.Kappa.Value, 3);
        Assert.InRange(fit.PeakWorkers!.Value, 29, 34);
        Assert.Equal(FindingLevel.Note, Assert.Single(fitted.Findings).Level);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("wks", Explicit = true)]
    [InlineData("svr")]
    public async Task Run_WithACollector_MeasuresInAProcessThatHasIt(string collector)
    {
        LoadResult result = await new CliUnderTest { UseProcesses = true }.RunAsync($"run noop --workers 1 --gc {collector} {Short}");

        // Without the collector the process measures nothing, and says so.
        Assert.True(FineOrUnfit.Contains(result.ExitCode), result.Error);
        ArmRecord arm = Assert.Single(ResultJson.Parse(result.Out, "output").Arms);
        Assert.Equal(collector, arm.Settings["gc"]);
        Assert.True(Assert.Single(arm.Rounds).Operations > 0);
    }

    [Fact(Timeout = 300_000)]
    public async Task Run_CollectorThatThisProcessHasNot_MeasuresNothing()
    {
        string other = System.Runtime.GCSettings.IsServerGC ? "wks" : "svr";

        LoadResult result = await new CliUnderTest().RunAsync($"run noop --workers 1 --gc {other} {Short}");

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"weir: The collector '{other}' is not available here", result.Error, StringComparison.Ordinal);
    }

    private static async Task<ResultFile> RunAsync(string arguments)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);
        Assert.True(FineOrUnfit.Contains(result.ExitCode), result.Error);
        Assert.Equal(JsonValueKind.Object, result.Json.ValueKind);
        return ResultJson.Parse(result.Out, "output");
    }
}
