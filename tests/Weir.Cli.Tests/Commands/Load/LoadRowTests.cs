using System.CommandLine;
using Weir.Cli.Commands.Load.Options;
using Weir.Cli.Commands.Load.Report;
using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Load;

/// <summary>What the rounds of an arm come to, made of the one record of results.</summary>
public class LoadRowTests
{
    private readonly LoadSettings _settings = SettingsOf("--runtime direct --peers --count 10 --trials 3 --fail-rate 0.5");

    [Fact]
    public void Of_TwoArms_ComparesThemRoundByRound()
    {
        // The machine slows down threefold in the second round and to a half in the third; the arms keep their ratio of 4.
        ArmRecord slow = new() { Name = "direct", Workers = 1, Rounds = [Round(0.04), Round(0.12), Round(0.08)] };
        ArmRecord fast = new() { Name = "loop", Workers = 1, Rounds = [Round(0.01), Round(0.03), Round(0.02)] };

        IReadOnlyList<LoadRow> rows = LoadRow.Of(ResultOf(slow, fast), _settings);

        Assert.Equal(0.25, rows[0].ToLoop!.Value, 6);
        Assert.Equal(-6_000_000, rows[1].AboveDirect!.Value, 3);
        Assert.Equal((8_000_000, 2_000_000), (Math.Round(rows[0].Nanoseconds), Math.Round(rows[1].Nanoseconds)));
        Assert.Equal((0.0, null), (rows[0].AboveDirect, rows[0].ToForEachAsync));
        Assert.Equal(["direct", null], rows.Select(static r => r.Choice?.Word));
    }

    [Fact]
    public void Of_RoundsOfSeveralPasses_GivesTheFiguresOfOne()
    {
        RoundRecord round = Round(0.1) with { Passes = 4, Operations =
            40, Failures = 20, TimedOut = 8, Gen0 = 3, Gen1 = 2, Gen2 = 1, AllocatedBytes = 400, CpuUserSeconds = 0.03, CpuSystemSeconds = 0.01 };

        LoadRow row = LoadRow.Of(ResultOf(new ArmRecord { Name = "direct", Workers = 1, Rounds = [round, round, round] }), _settings)[0];

        Assert.Equal((10, 3, 2, 1.5), (row.Processed, row.Failed, row.TimedOut, row.GcCount));
        Assert.Equal((10.0, 1000.0), (row.BytesPerItem, Math.Round(row.CpuSecondsPerMillion, 6)));
        Assert.False(row.IsPartial);
    }

    [Fact]
    public void Of_ARoundThatWasStopped_CountsOnlyWhenThereIsNoOther()
    {
        RoundRecord stopped = Round(0.1) with { Operations = 4, Partial = true };

        LoadRow first = LoadRow.Of(ResultOf(new ArmRecord { Name = "direct", Workers = 1, Rounds = [stopped] }), _settings)[0];
        LoadRow later = LoadRow.Of(ResultOf(new ArmRecord { Name = "direct", Workers = 1, Rounds = [Round(0.1), stopped] }), _settings)[0];
        LoadRow none = LoadRow.Of(ResultOf(new ArmRecord { Name = "direct", Workers = 1 }), _settings)[0];

        Assert.Equal((4, true, null), (first.Processed, first.IsPartial, first.Checksum));
        Assert.Equal((10, 10, true), (later.Processed, later.Items, later.IsPartial));
        Assert.Equal((0, false), (none.Processed, none.IsMeasured));
    }

    private static RoundRecord Round(double seconds) => new() { Operations = 10, Seconds = seconds, Rate = 10 / seconds, Passes = 1 };

    private static ResultFile ResultOf(params ArmRecord[] arms) => SampleResults.Scaling() with { Arms = arms, Comparisons = [], Fits = [] };

    private static LoadSettings SettingsOf(string arguments)
    {
        LoadOptionSet options = new();
        Command command = new("load");
        options.AddTo(command);
        return options.Read(command.Parse(arguments), static _ => null);
    }
}
