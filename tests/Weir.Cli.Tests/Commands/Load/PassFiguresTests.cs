using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Load;

/// <summary>What the rounds of an arm come to, made of the one record of results.</summary>
public class PassFiguresTests
{
    [Fact]
    public void Of_TwoArms_ComparesThemRoundByRound()
    {
        // The machine slows down threefold in the second round and to a half in the third; the arms keep their ratio of 4.
        ArmRecord slow = new() { Name = "direct", Workers = 1, Rounds = [Round(0.04), Round(0.12), Round(0.08)] };
        ArmRecord fast = new() { Name = "loop", Workers = 1, Rounds = [Round(0.01), Round(0.03), Round(0.02)] };

        PassFigures first = PassFigures.Of(slow, [slow, fast])!;
        PassFigures second = PassFigures.Of(fast, [slow, fast])!;

        Assert.Equal(0.25, first.RatioToLoop!.Value, 6);
        Assert.Equal(-6_000_000, second.NsAboveDirect!.Value, 3);
        Assert.Equal((8_000_000, 2_000_000), (Math.Round(first.NsPerItem), Math.Round(second.NsPerItem)));
        Assert.Equal((0.0, null), (first.NsAboveDirect, first.RatioToPlatform));
    }

    [Fact]
    public void Of_RoundsOfSeveralPasses_GivesTheFiguresOfOne()
    {
        RoundRecord round = Round(0.1) with { Passes = 4, Operations =
            40, Failures = 20, TimedOut = 8, Gen0 = 3, Gen1 = 2, Gen2 = 1, AllocatedBytes = 400, CpuUserSeconds = 0.03, CpuSystemSeconds = 0.01 };

        ArmRecord arm = new() { Name = "direct", Workers = 1, Rounds = [round, round, round] };
        PassFigures figures = PassFigures.Of(arm, [arm])!;

        Assert.Equal((10, 3, 2, 1.5), (figures.Processed, figures.Failed, figures.TimedOut, figures.GcCount));
        Assert.Equal((10.0, 1000.0), (figures.BytesPerItem, Math.Round(figures.CpuSecondsPerMillion, 6)));
    }

    [Fact]
    public void Of_ARoundThatWasStopped_CountsOnlyWhenThereIsNoOther()
    {
        RoundRecord stopped = Round(0.1) with { Operations = 4, Partial = true };

        PassFigures? Of(params RoundRecord[] rounds)
        {
            ArmRecord arm = new() { Name = "direct", Workers = 1, Rounds = rounds };
            return PassFigures.Of(arm, [arm]);
        }

        Assert.Equal((4, null), (Of(stopped)!.Processed, Of(stopped)!.Checksum));
        Assert.Equal((10, 100.0), (Of(Round(0.1), stopped)!.Processed, Math.Round(Of(Round(0.1), stopped)!.ThroughputPerSecond, 6)));
        Assert.Null(Of());
    }

    [Fact]
    public void Of_RoundsWithoutPasses_AreNone()
    {
        ArmRecord worker = new() { Name = "cpu", Workers = 1, Rounds = [Round(0.1) with { Passes = null }] };
        ArmRecord queue = new() { Name = "memory", Workers = 1, Rounds = [Round(0.1) with { Lost = 0 }] };

        Assert.Null(PassFigures.Of(worker, [worker]));
        Assert.Null(PassFigures.Of(queue, [queue]));
    }

    private static RoundRecord Round(double seconds) => new() { Operations = 10, Seconds = seconds, Rate = 10 / seconds, Passes = 1 };
}
