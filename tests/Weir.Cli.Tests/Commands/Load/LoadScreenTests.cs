using Weir.Cli.Commands.Load;
using Weir.Cli.Tests.Support;
using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadScreenTests
{
    private const int Columns = 80;
    private const int Lines = 34;

    [Theory(Timeout = 300_000)]
    [InlineData("--count 1000 --trials 2")]
    [InlineData("--count 200 --trials 2 --peers")]
    [InlineData("--count 1000 --trials 2 --runtime direct")]
    public async Task Load_ByDefault_IsOneScreenThatBeginsWithTheAnswer(string options)
    {
        LoadResult result = await CliUnderTest.LoadAsync(options);

        Assert.Equal(0, result.ExitCode);
        string[] lines = result.Out.TrimEnd().Split('\n');
        Assert.InRange(lines.Length, 8, Lines);
        Assert.All(lines, static line => Assert.InRange(line.Length, 0, Columns));
        Assert.Matches("^(Cannot say which is the fastest:|[A-Za-z.]+ (is the fastest|and |handled ))", lines[0]);
    }

    [Fact]
    public void Answer_OneThatIsFasterInEveryWindow_IsTheFastest()
    {
        ResultFile result = ResultOf(("direct", static i => 2e6 + i), ("parallel", static i => 4e6 + i), ("auto", static i => 1e6 + i));

        Assert.Equal(
            "parallel is the fastest: 4.00 M items a second, 250 ns an item; none of 45.0 k failed. The next is direct with 2.00 M, then auto (1.00 M).",
            Answer.Of(result).Sentence);
    }

    [Fact]
    public void Answer_WindowsThatDifferMoreThanTheArms_IsNotCertain()
    {
        ResultFile result = ResultOf(
            ("direct", static i => 2e6 + (i % 2 * 2e6)), ("parallel", static i => 4e6 - (i % 2 * 1.9e6)), ("auto", static i => 1e6 + i)) with
        {
            Findings = [new Finding(FindingLevel.Doubt, "busy", FindingKind.Machine)],
        };

        Assert.Equal(
            new Answer(
                "Cannot say which is the fastest: parallel did 4.00 M items a second, 250 ns an item; direct (2.00 M) did less, but the windows differ "
                    + "more than that; none of 45.0 k failed. Slower: auto (1.00 M).",
                "Less sure than it looks: 15 windows of each took turns, but busy."),
            Answer.Of(result));
    }

    [Fact]
    public void Answer_ArmsThatDoTheSame_AreEquallyFast()
    {
        ResultFile result = ResultOf(("direct", static i => 2e6 + i), ("parallel", static i => 2e6 + 1 + i));

        Assert.Equal("parallel and direct (2.00 M) are about equally fast: 2.00 M items a second, 500 ns an item; none of 30.0 k failed.",
            Answer.Of(result).Sentence);
    }

    [Fact]
    public void Answer_OneArmOrNone_SaysSo()
    {
        Assert.Equal(
            "direct handled 2.00 M items a second, 500 ns an item; none of 15.0 k failed. Believe it: 15 windows, and no check failed.",
            Answer.Of(ResultOf(("direct", static _ => 2e6))).Text);
        Assert.Equal("Cannot say which is the fastest: nothing was measured to its end.", Answer.Of(ResultOf() with { Partial = true }).Text);
    }

    [Theory]
    [InlineData(0.95, 0)]
    [InlineData(0.4, 1)]
    public void Busy_OtherProgramsHadMuchOfTheMachine_IsADoubt(double room, int findings)
    {
        ResultFile result = ResultOf(("direct", static _ => 2e6));
        Finding[] found = [.. LoadMachine.Busy(result.Arms.Select(a => a with { Rounds = [.. a.Rounds.Select(r => r with { Room = room })] }))];

        Assert.Equal(findings, found.Length);
        Assert.All(found, static f => Assert.Equal(
            (FindingLevel.Doubt, "Other programs had 60 % of the processor time meanwhile. Run it again on a quieter machine."), (f.Level, f.Text)));
    }

    // With an even number of windows, the middle of the times is not the time at the middle of the rates.
    [Fact]
    public void Table_RateAndTimeOfAnItem_AreOneFigure()
    {
        ResultFile result = ResultOf(2, ("direct", static i => i == 0 ? 1e6 : 4e6));
        PassFigures figures = PassFigures.Of(result.Arms[0], result.Arms)!;

        Assert.Equal(1e9, figures.ThroughputPerSecond * figures.NsPerItem, 3);
        using StringWriter screen = new();
        LoadScreen.Write(result, screen, new TextStyle(Columns, false));
        Assert.Matches(@"direct\s+2\.50 M\s+\[1\.00\.\.4\.00 M\]\s+400 ", screen.ToString());
    }

    private static ResultFile ResultOf(params (string Name, Func<int, double> Rate)[] arms) => ResultOf(15, arms);

    private static ResultFile ResultOf(int windows, params (string Name, Func<int, double> Rate)[] arms) => new()
    {
        Command = "load",
        Arguments = [],
        Work = "does nothing",
        Unit = "items",
        StartedAt = DateTimeOffset.UnixEpoch,
        Machine = new MachineRecord
        {
            Cpu = "x", Cores = 2, Os = "x", Architecture = "x", MemoryBytes = 1, Dotnet = "10", Gc = "x", Hash = "x",
            Variables = new Dictionary<string, string>(),
        },
        Settings = new Dictionary<string, string> { ["trials"] = $"{windows}" },
        Arms =
        [
            .. arms.Select(a => new ArmRecord
            {
                Name = a.Name,
                Workers = 1,
                Rounds = [.. Enumerable.Range(0, windows).Select(i => new RoundRecord
                {
                    Order = i + 1, Passes = 1, Operations = 1000, Seconds = 1000 / a.Rate(i), Rate = a.Rate(i), Checksum = "1",
                })],
            }),
        ],
    };
}
