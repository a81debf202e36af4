using System.Diagnostics;
using Weir.Lab.Latency;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

public class PacingTests
{
    [Theory(Timeout = 300_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task RunAsync_Rate_OffersExactlyThatManyStartsAndLosesNone(bool isAsync)
    {
        WorkerRun run = await RunAsync(
            Spec(3, 500), new Workload("quick", _ => isAsync ? Operation.OfAsync(static () => Task.CompletedTask) : Operation.Of(static () => { })));

        WorkerRound round = Assert.Single(run.Rounds);
        Assert.Equal(150, round.Pacing!.Offered);
        Assert.Equal((0, 0), (round.Pacing.Dropped, round.Pacing.Unfinished));
        Assert.Equal(150, round.Operations);
        Assert.Equal(150, round.Service!.Count);
        Assert.Equal(150, round.Response!.Count);
        Assert.True(round.Rate <= 505, $"{round.Rate}");
        Assert.True(round.InFlight.IsMeasured);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_OneStall_IsInTheResponseTimesOfAllWhoWouldHaveWaited()
    {
        // One operation of 300 stalls for 100 ms, in which 100 more are due. What they wait does not show in how long they took themselves.
        TimeSpan stall = TimeSpan.FromMilliseconds(100);
        long calls = 0;
        WorkerRun run = await RunAsync(Spec(1, 1_000), new Workload("stall", _ => Operation.Of(() =>
        {
            if (++calls == 100)
            {
                long start = Stopwatch.GetTimestamp();
                SpinWait.SpinUntil(() => Stopwatch.GetElapsedTime(start) >= stall);
            }
        }))
        { BeginRound = () => calls = 0 });

        LatencySummary service = run.Service!;
        LatencySummary response = run.Response!;
        long half = (long)stall.TotalNanoseconds / 2;
        Assert.True(1 - response.Histogram.ShareAtOrBelow(half) >= 0.15, $"{1 - response.Histogram.ShareAtOrBelow(half)}");
        Assert.True(service.Histogram.ShareAtOrBelow(half) > response.Histogram.ShareAtOrBelow(half));
        Assert.True(response.P90 >= half, $"{response.P90}");
        Assert.True(run.Rounds[0].Pacing!.LateStarts >= 40, $"{run.Rounds[0].Pacing}");
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task RunAsync_StallOfACallThatIsNotTimed_IsInTheMaximum()
    {
        // Of calls as short as these one in a thousand is timed, and that is not the one that stalls.
        TimeSpan stall = TimeSpan.FromMilliseconds(30);
        long calls = 0;
        WorkerRun run = await RunAsync(Spec(1, null) with { LongestWarmUp = TimeSpan.FromMilliseconds(100) }, new Workload("stall", _ => Operation.Of(() =>
        {
            if (++calls % 100_001 == 0)
            {
                long start = Stopwatch.GetTimestamp();
                SpinWait.SpinUntil(() => Stopwatch.GetElapsedTime(start) >= stall);
            }
        })));

        Assert.True(run.Rounds[0].Groups[0].SampleEvery > 1);
        Assert.True(run.Service!.Max >= stall.TotalNanoseconds, $"{run.Service.Max}");
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_MoreThanCanBeDone_KeepsWithinTheLimitAndCountsWhatIsDropped()
    {
        WorkerRun run = await RunAsync(
            Spec(1, 2_000) with { MaxInFlight = 4 },
            new Workload("slow", static _ => Operation.Of(static () =>
            {
                long start = Stopwatch.GetTimestamp();
                SpinWait.SpinUntil(() => Stopwatch.GetElapsedTime(start) >= TimeSpan.FromMilliseconds(5));
            })));

        WorkerRound round = Assert.Single(run.Rounds);
        Assert.True(round.Pacing!.Dropped > 0);
        Assert.Equal(round.Pacing.Offered, round.Pacing.Dropped + round.Operations);
        Assert.Equal(1, round.InFlight.Max);
        Assert.Contains(run.Warnings, static w => w.Text.Contains("starts were dropped, because 4 operations were in flight", StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000)]
    public async Task InFlightMeter_EntriesAndExits_GivesDepthMaximumAndAverage()
    {
        InFlightMeter meter = new();
        Assert.False(meter.IsUsed);
        meter.Enter();
        meter.Enter();
        meter.Enter();
        meter.Exit();
        Assert.Equal((2, 3), (meter.Depth, meter.Max));
        meter.Reset();
        Assert.Equal(2, meter.Max);
        Assert.True(meter.IsUsed);

        // As long as nothing enters or leaves, the average is the depth, however long that is.
        await Task.Yield();
        Assert.InRange(meter.Average(), 1.999, 2.001);
        meter.Exit();
        meter.Exit();
        meter.Reset();
        Assert.False(meter.IsUsed);
        Assert.Equal(0, meter.Average(), 6);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_WorkloadThatCountsItself_ReportsWhatIsReallyInFlight()
    {
        // Four workers, of which one at a time gets to the device. As many operations as they are, and not a time: whoever has the device may be held up
        // before it counts or after that, for as long as a window of a time.
        object device = new();
        WorkerRun run = await RunAsync(
            Spec(4, null) with { Whole = new WholeOperations { Each = 50 } },
            new Workload("device", c => Operation.Of(() =>
            {
                lock (device)
                {
                    c.InFlight.Enter();
                    Thread.SpinWait(2_000);
                    c.InFlight.Exit();
                }
            })));

        InFlightDepth depth = run.Rounds[0].InFlight;
        Assert.True(depth.IsMeasured);
        Assert.Equal(1, depth.Max);
        Assert.InRange(depth.Average, double.Epsilon, 1);
    }

    [Theory]
    [InlineData(0, 1, 1, nameof(WorkerRunSpec.RatePerSecond))]
    [InlineData(double.NaN, 1, 1, nameof(WorkerRunSpec.RatePerSecond))]
    [InlineData(1, 0, 1, nameof(WorkerRunSpec.MaxInFlight))]
    [InlineData(1, 1, 0, nameof(WorkerRunSpec.Rounds))]
    public void Validate_ValueOutsideItsRange_ThrowsWithItsName(double rate, int maxInFlight, int rounds, string name)
    {
        WorkerRunSpec spec = Spec(1, rate) with { MaxInFlight = maxInFlight, Rounds = rounds };

        Assert.Equal(name, Assert.ThrowsAny<ArgumentException>(spec.Validate).ParamName);
    }

    [Fact]
    public void Validate_RateWithSeveralGroups_Throws() => Assert.Throws<ArgumentException>(
        (Spec(1, 100) with { Groups = [new WorkerGroup("a", 1), new WorkerGroup("b", 1)] }).Validate);

    [Fact]
    public void ParameterHash_DiffersWithWhatIsMeasuredNotWithHowOften()
    {
        WorkerRunSpec spec = Spec(4, null);

        Assert.Equal(spec.ParameterHash, (spec with { Rounds = 7, Duration = TimeSpan.FromSeconds(9) }).ParameterHash);
        Assert.NotEqual(spec.ParameterHash, (spec with { MinThreads = 3 }).ParameterHash);
        Assert.NotEqual(spec.ParameterHash, (spec with { Parameters = new Dictionary<string, string> { ["buffer"] = "4096" } }).ParameterHash);
    }

    private static WorkerRunSpec Spec(int workers, double? rate) => new()
    {
        Workload = "test",
        Groups = [new WorkerGroup("all", workers)],
        RatePerSecond = rate,
        Rounds = 1,
        Duration = TimeSpan.FromMilliseconds(300),
        LongestWarmUp = TimeSpan.Zero,
        MostRepeats = 0,
        DrainLimit = TimeSpan.FromHours(1),
    };

    private static Task<WorkerRun> RunAsync(WorkerRunSpec spec, IWorkload workload) =>
        new WorkerRunner(spec).RunAsync(workload).WithinAsync("the run");
}
