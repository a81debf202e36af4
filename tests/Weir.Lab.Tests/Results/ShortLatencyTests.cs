using Weir.Lab.Latency;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Lab.Tests.Results;

/// <summary>Latencies of which a reading of the clock is a large part.</summary>
public class ShortLatencyTests
{
    private const double Reading = 28;
    private static readonly ComparisonOptions Options = new() { Figures = [ComparedFigure.P25] };

    [Fact]
    public void Figures_OfSomeNanoseconds_AreWithoutTheReadingOfTheClock()
    {
        ComparisonRecord compared = Of(60, 66, Reading);

        Assert.Equal(32, compared.AgainstValue!.Value, 6);
        Assert.Equal(38, compared.Value!.Value, 6);
        Assert.Equal(38 / 32.0, compared.Ratio, 6);
        Assert.Equal(Verdict.Slower, compared.Verdict);
    }

    [Fact]
    public void Figures_OfSomeNanoseconds_AreNotFinerThanTheClock()
    {
        ComparisonRecord compared = Of(60, 60, Reading);

        // All pairs agree to the nanosecond, of which half may be missing on each side.
        Assert.Equal(Math.Exp(1 / 32.0), compared.High, 6);
        Assert.Equal(Math.Exp(-1 / 32.0), compared.Low, 6);
        Assert.Equal(Verdict.Inconclusive, compared.Verdict);
        Assert.True(compared.IsBelowClock);
        Assert.Equal("a call is so short that the clock tells its latency to 3.1 % only", compared.Note);
        Assert.Equal(1, compared.P);
    }

    [Fact]
    public void Figures_OfSomeMicroseconds_AreEqualWithinTheMargin()
    {
        ComparisonRecord compared = Of(5000, 5000, Reading);

        Assert.Equal(Verdict.Equivalent, compared.Verdict);
        Assert.False(compared.IsBelowClock);
        Assert.Null(compared.Note);
        Assert.InRange(compared.High, 1.0005, 1.002);
    }

    [Fact]
    public void Figures_BelowTwoReadings_AreNone() => Assert.Empty(Comparing.Figures(Arm("b", 55), Arm("a", 60), Options, Reading));

    [Theory]
    [InlineData(11_400, 11_400, Verdict.Equivalent)]
    [InlineData(11_400, 12_540, Verdict.Slower)]
    [InlineData(12_540, 11_400, Verdict.Faster)]
    public void Figures_OfBatchesOfOneSize_AreThoseOfTheBatches(long before, long after, Verdict verdict)
    {
        // Their calls take less than two readings of the clock.
        ComparisonRecord compared = Assert.Single(
            Comparing.Figures(Batches("b", after, 1000, call: 40), Batches("a", before, 1000, call: 40), Options, Reading));

        Assert.Equal(verdict, compared.Verdict);
        Assert.Equal(before / 1000.0, compared.AgainstValue!.Value, 2);
        Assert.Equal(after / 1000.0, compared.Value!.Value, 2);
        Assert.Equal((double)after / before, compared.Ratio, 2);
        Assert.False(compared.IsBelowClock);
        string values = FormattableString.Invariant($"{after / 1000.0:0.#} ns against {before / 1000.0:0.#} ns");
        Assert.Contains(values, compared.ValuesText, StringComparison.Ordinal);
    }

    [Fact]
    public void Figures_OfBatchesOfSeveralSizes_AreThoseOfTheCalls()
    {
        // What a look at the clock costs would be a difference between them.
        ComparisonRecord compared = Assert.Single(
            Comparing.Figures(Batches("b", 11_400, 1000, call: 66), Batches("a", 5_700, 500, call: 60), Options, Reading));

        Assert.Equal(38, compared.Value!.Value, 6);
    }

    [Fact]
    public void Stored_OfSomeNanoseconds_TakeTheSameReadingOffBoth()
    {
        // The clock was measured on a busy machine once, and on a quiet one once.
        ResultFile before = Stored(60, 26);
        ResultFile after = Stored(60, 28);

        ComparisonRecord compared = Assert.Single(
            new StoredComparing(("a", before), ("b", after), Options, acrossMachines: true).All([(before.Arms[0], after.Arms[0])], static _ => ("a", "b")));

        Assert.Equal(1, compared.Ratio, 6);
        Assert.Equal(32, compared.Value!.Value, 6);
        Assert.Equal(Math.Exp(1 / 32.0), compared.High, 6);
        Assert.Equal(1, compared.P);
    }

    private static ComparisonRecord Of(long before, long after, double clock) =>
        Assert.Single(Comparing.Figures(Arm("b", after), Arm("a", before), Options, clock));

    private static ArmRecord Arm(string name, long latency)
    {
        LatencyHistogram latencies = new();
        for (int i = 0; i < 8; i++)
        {
            latencies.Record(latency);
        }

        return new ArmRecord
        {
            Name = name,
            Workers = 1,
            Rounds =
            [
                .. Enumerable.Range(1, 5).Select(i => new RoundRecord
                {
                    Process = i, Turn = 1, Operations = 8, Seconds = 0.1, Rate = 80, Service = HistogramCodec.Encode(latencies),
                }),
            ],
        };
    }

    private static ArmRecord Batches(string name, long time, int batch, long call)
    {
        LatencyHistogram times = new();
        for (int i = 0; i < 8; i++)
        {
            times.Record(time);
        }

        ArmRecord arm = Arm(name, call);
        return arm with { Rounds = [.. arm.Rounds.Select(r => r with { Batch = batch, BatchTimes = HistogramCodec.Encode(times) })] };
    }

    private static ResultFile Stored(long latency, double clock)
    {
        ResultFile result = StoredComparisonTests.Run(new Random(1), 80, 5, 0.01);
        return result with { Machine = result.Machine with { ClockNs = clock }, Arms = [Arm("a", latency)] };
    }
}
