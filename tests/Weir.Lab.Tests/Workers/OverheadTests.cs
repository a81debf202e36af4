using Weir.Lab.Tests.Support;
using Weir.Lab.Workers;

namespace Weir.Lab.Tests.Workers;

/// <summary>What the loop adds to short operations, with planted durations on a clock that stands still.</summary>
public class OverheadTests
{
    private static readonly TimeSpan Window = TimeSpan.FromMilliseconds(5);

    [Theory]
    [InlineData(1.2)]
    [InlineData(2.8)]
    [InlineData(6)]
    public void Rate_OfOneWorkersShortOperations_IsThatOfALoopByHand(double loop)
    {
        for (double length = 1; length < 2_000; length *= 1.3)
        {
            int batch = WindowOutcome.BatchOf(length + loop);
            OverheadMeter meter = MeterOf(subtracts: true, batch, loop);
            double rate = RateOf(batch, length + loop);
            LoopOverhead overhead = meter.Of(rate);

            // The clock here goes in whole nanoseconds, for a batch.
            Assert.InRange(overhead.Nanoseconds, (0.99 * loop) - (1.0 / batch), (1.01 * loop) + (1.0 / batch));
            Assert.Equal(length >= loop / 4, overhead.IsSubtracted);
            if (overhead.IsSubtracted)
            {
                Assert.InRange(1e9 / overhead.Without(rate), (0.99 * length) - (2.0 / batch), (1.01 * length) + (2.0 / batch));
            }
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(0.5)]
    [InlineData(-0.3)]
    public void Overhead_OfAnOperationThatCannotBeToldFromNone_IsNotSubtracted(double length)
    {
        // Also where it seems to be quicker than nothing, as what is put into the loop by the compiler may be.
        const double loop = 2.8;
        OverheadMeter meter = MeterOf(subtracts: true, 4_096, loop);
        Assert.False(meter.Of(RateOf(4_096, loop + length)).IsSubtracted);
        Assert.False(meter.Of(0).IsSubtracted);
    }

    [Fact]
    public void Overhead_ThatVaries_AsksForMoreThanItsQuartilesLieApart()
    {
        LoopOverhead overhead = LoopOverhead.Of([2, 2, 3, 4, 6, 6, 9]);
        Assert.Equal((2, 4), (overhead.Nanoseconds, overhead.Resolution));
        Assert.False(overhead.CanBeSubtractedFrom(1e9 / 5.9));
        Assert.True(overhead.CanBeSubtractedFrom(1e9 / 6.1));
    }

    [Fact]
    public void Overhead_OfSeveralRounds_IsSubtractedFromAllOrNone()
    {
        OverheadMeter meter = MeterOf(subtracts: true, 4_096, 2.8);
        Assert.False(meter.Of(1e9 / 3.4).IsSubtracted);
        Assert.False(meter.Of(1e9 / 3.6).IsSubtracted);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(1, false, true, true)]
    [InlineData(2, false, true, false)]
    [InlineData(1, true, true, false)]
    [InlineData(1, false, false, false)]
    public async Task Overhead_OfARun_IsShownAndSubtractedOnlyOfOneSynchronousWorker(int workers, bool isAsync, bool subtracts, bool isSubtracted)
    {
        // A microsecond or so: far from nothing on any machine, and far from two microseconds, from which on each operation is timed.
        Work.CalibratedSpin spin = Work.CalibratedSpin.Of(TimeSpan.FromMicroseconds(0.4), Work.CalibratedSpin.MeasureStepsPerSecond());
        Workload workload = new("spin", _ => isAsync ? Operation.OfAsync(() => new ValueTask<long>(spin.Run(1))) : Operation.Of(() => spin.Run(1)));
        WorkerRunSpec spec = new()
        {
            Workload = "spin",
            Groups = [new WorkerGroup("workers", workers)],
            Duration = TimeSpan.FromMilliseconds(20),
            Rounds = 2,
            LongestWarmUp = TimeSpan.Zero,
            MostRepeats = 0,
            SubtractsOverhead = subtracts,
        };
        WorkerRun run = await new WorkerRunner(spec).RunAsync(workload, TestContext.Current.CancellationToken);
        Assert.All(run.Rounds, round =>
        {
            // A machine that is so busy that an operation takes more than two microseconds has none.
            Assert.True(round.Overhead is not null || round.Groups[0].SampleEvery == 1);
            Assert.True(round.Overhead is not { IsSubtracted: true } || isSubtracted);
            Assert.Equal(round.Rate, round.Groups[0].Rate, 1e-6 * round.Rate);
        });
    }

    [Fact]
    public void Empty_OfEveryShape_IsOfTheSameShape()
    {
        Operation[] shapes =
        [
            Operation.Of(static () => { }), Operation.Of(static () => 1), Operation.OfAsync(static () => Task.CompletedTask),
            Operation.OfAsync(static () => default(ValueTask)),
            Operation.OfAsync(static () => Task.FromResult(1)), Operation.OfAsync(static () => new ValueTask<int>(1)),
        ];
        Assert.All(shapes, static shape => Assert.Same(shape.GetType(), shape.Empty().GetType()));
    }

    private static OverheadMeter MeterOf(bool subtracts, int batch, double loop)
    {
        OverheadMeter meter = new(_ => 1e9 / RateOf(batch, loop), subtracts);
        meter.Take(5, CancellationToken.None);
        return meter;
    }

    private static double RateOf(int batch, double length) => SimulatedWindow.Run(Window, 1, batch, (_, count) => count * length).Rate;
}
