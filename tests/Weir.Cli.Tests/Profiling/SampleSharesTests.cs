using Weir.Cli.Profiling;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Samples divided into work and waiting.</summary>
public class SampleSharesTests
{
    [Fact]
    public void Divide_NativeCallThatSleeps_IsWaiting() => Assert.Equal((1, 99), Of("Sleep", 0.01, (SampleKind.Managed, 30), (SampleKind.Native, 70)));

    [Fact]
    public void Divide_NativeCallThatWorks_IsWork() => Assert.Equal((99, 1), Of("Hash", 0.99, (SampleKind.Managed, 10), (SampleKind.Native, 90)));

    [Fact]
    public void Divide_WhereTimesAreNotKnown_OnlyWaitingIsLeftOut() =>
        Assert.Equal((70, 30), Of("Any", null, (SampleKind.Managed, 30), (SampleKind.Native, 40), (SampleKind.Waiting, 30)));

    [Fact]
    public void Divide_ComputesForHalfAndSleepsForHalf_IsHalf()
    {
        SampleShares shares = new(static (_, _) => 0.5, static _ => 20);
        Add(shares, "Compute", SampleKind.Managed, 50);
        Add(shares, "Sleep", SampleKind.Native, 50);

        (Dictionary<string, double> work, Dictionary<string, double> waiting) = shares.Divide();

        Assert.Equal(("Compute", 50.0), (Assert.Single(work).Key, Math.Round(work["Compute"], 6)));
        Assert.Equal(("Sleep", 50.0), (Assert.Single(waiting).Key, Math.Round(waiting["Sleep"], 6)));
    }

    [Fact]
    public void Divide_ALoopThatCannotBeStopped_CountsByItsTime()
    {
        SampleShares shares = new(static (_, interval) => interval < 2 ? 1 : 0.5, static interval => interval == 1 ? 40 : 20);
        Add(shares, "Stoppable", SampleKind.Managed, 20, time: 1);
        shares.Add(1, 1, new FoldedSample("Loop", SampleKind.Managed), 20);
        shares.Add(1, 1, new FoldedSample("Loop", SampleKind.Managed), 20);
        shares.Add(1, 2, new FoldedSample("Half", SampleKind.Managed), 20);

        (Dictionary<string, double> work, _) = shares.Divide();

        // 20, 40 and 10 of the time, with as many samples as before.
        Assert.Equal([("Stoppable", 5.75), ("Loop", 11.5), ("Half", 2.875)], work.Select(static w => (w.Key, Math.Round(w.Value, 6))));
    }

    [Fact]
    public void Divide_SamplesAtTheReturnOfTheOperation_AreTheOperations()
    {
        SampleShares shares = new(static (_, _) => 1, static _ => 20);
        Add(shares, "Run;Hot", SampleKind.Managed, 30);
        Add(shares, "Run", SampleKind.Managed, 10);
        Add(shares, ProfileRecord.Operation, SampleKind.Managed, 40);
        Add(shares, ProfileRecord.LabLoop, SampleKind.Managed, 20);

        (Dictionary<string, double> work, _) = shares.Divide();

        Assert.Equal([("Run;Hot", 60.0), ("Run", 20.0), (ProfileRecord.LabLoop, 20.0)], work.Select(static w => (w.Key, Math.Round(w.Value, 6))));
    }

    [Fact]
    public void Divide_SamplesInTheLoopBeyondItsTime_AreTheOperations()
    {
        // Of 20 ms, the loop can have needed one.
        SampleShares shares = new(static (_, _) => 1, static _ => 20, loop: 1);
        Add(shares, "Run;Hot", SampleKind.Managed, 60, time: 0.2);
        Add(shares, ProfileRecord.LabLoop, SampleKind.Managed, 40, time: 0.2);

        (Dictionary<string, double> work, _) = shares.Divide();

        Assert.Equal([("Run;Hot", 95.0), (ProfileRecord.LabLoop, 5.0)], work.Select(static w => (w.Key, Math.Round(w.Value, 6))));
    }

    // A thread of the pool that did the profiler's work all the time but for a moment: that moment is no whole interval of work.
    [Fact]
    public void Divide_SamplesOfWhatIsNotMeasured_TakeTheirPartOfTheTime()
    {
        SampleShares shares = new(static (_, _) => 1, static _ => 20);
        Add(shares, "Mine", SampleKind.Managed, 1);
        Add(shares, null, SampleKind.Managed, 99);

        (Dictionary<string, double> work, Dictionary<string, double> waiting) = shares.Divide();

        Assert.Equal([("Mine", 1.0)], work.Select(static w => (w.Key, Math.Round(w.Value, 6))));
        Assert.Empty(waiting);
    }

    // Each sample stops compiled code for a quarter of the time until the next one, and native code goes on: 80 ms are 100 samples of the first, and 80 of the
    // second.
    [Fact]
    public void Divide_HalfOfTheWorkIsNative_IsHalfThoughItHasFewerSamples()
    {
        SampleShares shares = new(static (_, _) => 16.0 / 18, static _ => 180);
        Add(shares, "Compute", SampleKind.Managed, 100, time: 0.8);
        Add(shares, "Hash", SampleKind.Native, 80, time: 1);

        (Dictionary<string, double> work, Dictionary<string, double> waiting) = shares.Divide();

        Assert.Equal(work["Compute"], work["Hash"], 6);
        Assert.Empty(waiting);
    }

    // Compiled code that was stopped is neither; here it is counted as waiting, so that the sum is whole.
    private static (double Work, double Waiting) Of(string name, double? share, params (SampleKind Kind, int Count)[] samples)
    {
        SampleShares shares = new((_, _) => share, static _ => 20);
        Array.ForEach(samples, s => Add(shares, name, s.Kind, s.Count));
        (Dictionary<string, double> work, Dictionary<string, double> waiting) = shares.Divide();
        double all = samples.Sum(static s => s.Count);
        double working = work.GetValueOrDefault(name);
        Assert.InRange(waiting.GetValueOrDefault(name), 0, all - working + 1e-6);
        return (Math.Round(working), Math.Round(all - working));
    }

    private static void Add(SampleShares shares, string? name, SampleKind kind, int count, double time = 0.2)
    {
        for (int i = 0; i < count; i++)
        {
            shares.Add(1, 0, new FoldedSample(name, kind), time);
        }
    }
}
