using Weir.Lab.Suites.Peers.Dataflow;
using Weir.Tables.BlocksGrid;
using Weir.Tables.Page;

namespace Weir.Lab.Suites.Tests;

public class BlocksGridTests
{
    public static TheoryData<string> Cells => [.. GridCell.All.Where(static cell => cell.Messages == 20).Select(static cell => cell.Name)];

    [Theory(Timeout = 120_000)]
    [MemberData(nameof(Cells))]
    public async Task RunAsync_AnyCell_GivesTheSameSumWithBothLibrariesAndByHand(string name)
    {
        GridCell cell = GridCell.All.Single(cell => cell.Name == name);
        Assert.Equal(
            (cell.Expected, cell.Expected, cell.Expected), (await InBoxGrid.RunAsync(cell), await WeirGrid.RunAsync(cell), await ChannelGrid.RunAsync(cell)));
    }

    [Fact]
    public void All_TheGrid_HasEachBlockAndEachOptionThatItHas()
    {
        Assert.Equal(444, GridCell.All.Select(static cell => cell.Name).Distinct().Count());
        Assert.Equal(GridCell.All.Count, GridCell.All.Distinct().Count());
        int Count(GridBlock block) => GridCell.All.Count(cell => cell.Block == block);
        Assert.Equal([72, 108, 108, 18, 18, 6, 36, 36, 36, 6], Enum.GetValues<GridBlock>().Select(Count));
    }

    [Theory]
    [InlineData("JoinBlock-3/not-greedy/*", 18)]
    [InlineData("*/degree-4/unordered/*", 72)]
    [InlineData("BatchBlock/greedy/bound-1/senders-2/messages-20", 1)]
    public void Select_Pattern_GivesTheCellsOfTheirNames(string pattern, int count) => Assert.Equal(count, BlocksGridRun.Select([pattern]).Length);

    [Fact(Timeout = 120_000)]
    public async Task MeasureAsync_SumIsWrong_SaysWhoseBlocksLostAMessage()
    {
        GridCell cell = GridCell.All[0];
        GridArm arm = new("Weir", cell, static cell => Task.FromResult(cell.Expected - 1));
        GridFailedException wrong = await Assert.ThrowsAsync<GridFailedException>(() => arm.MeasureAsync(TestContext.Current.CancellationToken));
        Assert.Equal("the messages from the blocks of Weir add up to 189, not 190", wrong.Message);
    }

    [Fact(Timeout = 120_000)]
    public async Task MeasureAsync_BlockFails_SaysWhose()
    {
        GridArm arm = new("the platform", GridCell.All[0], static _ => Task.FromException<long>(new AggregateException(new NotSupportedException())));
        GridFailedException failed = await Assert.ThrowsAsync<GridFailedException>(() => arm.MeasureAsync(TestContext.Current.CancellationToken));
        Assert.Equal("the blocks of the platform failed: NotSupportedException", failed.Message);
    }

    [Fact]
    public void Render_PageWithNotes_KeepsThemAndCountsByTheMedians()
    {
        GridReading slow = Reading(GridCell.All[0], 100, 90, 110, 120);
        GridReading fast = Reading(GridCell.All.First(static cell => cell is { Block: GridBlock.Join2, IsGreedy: false, Bound: 10 }), 100, 40, 50, 90);
        string page = BlocksGridPage.Render(
            "Measured here.", [slow, fast], [(GridCell.All[2], "It takes too long")], "old\n<!-- notes Page -->\nBy hand.\n<!-- /notes -->\nold");
        Assert.Contains("<!-- notes Page -->\nBy hand.\n<!-- /notes -->", page, StringComparison.Ordinal);
        Assert.Contains("**Of 2 rows, 1 are slower than in-box by more than 5 %, and 1 are at least twice as fast.**", page, StringComparison.Ordinal);
        Assert.Contains("This is a part of the grid", page, StringComparison.Ordinal);
        Assert.Contains(
            "| `ActionBlock` | | none | | synchronous | 1 | 1 | 20 | **1.10** | 0.90..1.20 | 100 ns | 110 ns | 80.0 ns | 2.00 | 0.50 |", page, StringComparison.Ordinal);
        Assert.Contains("| `JoinBlock-2` | no | 10 | | | | 1 | 20 | 0.50 | 0.40..0.90 | 100 ns | 50.0 ns |", page, StringComparison.Ordinal);
        Assert.Contains("| `ActionBlock` | | none | | synchronous | 1 | 1 | 50,000 | It takes too long |", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Extract_IntoThePageOfBlocks_IsASectionThatIsKept()
    {
        GridReading slow = Reading(GridCell.All[0], 100, 90, 110, 120);
        ResultPage page = new("", SuiteSet.Dataflow);
        page.ReplaceGrid(BlocksGridPage.Extract("Measured here.", [slow], []));
        string text = page.Render();
        Assert.Contains("<!-- measured BlocksGrid -->\nMeasured here.\n\n**Of 1 rows, 1 are slower", text, StringComparison.Ordinal);
        Assert.Equal(text, new ResultPage(text, SuiteSet.Dataflow).Render());
    }

    [Theory]
    [InlineData("ActionBlock/unbounded/degree-1/senders-1/synchronous/messages-20", 0.1, "0 have more, met")]
    [InlineData("ActionBlock/unbounded/degree-1/senders-1/synchronous/messages-20", 0.15, "1 have more, **missed**")]
    [InlineData("BatchBlock/not-greedy/unbounded/senders-2/messages-20", 0.5, "0 have more, met")]
    [InlineData("BatchBlock/not-greedy/unbounded/senders-2/messages-2000", 0.1, "0 have more, met")]
    [InlineData("BatchBlock/not-greedy/unbounded/senders-2/messages-2000", 0.11, "1 have more, **missed**")]
    [InlineData("ActionBlock/unbounded/degree-1/senders-1/yielding/messages-2000", 2, "0 have more, met")]
    public void Render_Hops_AreJudgedWhereMessagesAreDenseAndWhereBlocksAreNew(string name, double hops, string verdict)
    {
        GridCell cell = GridCell.All.Single(cell => cell.Name == name);
        GridReading reading = new(cell, [new GridRound(new GridSample(1, 1), new GridSample(1, hops), new GridSample(1, 1))]);
        string page = BlocksGridPage.Render("Measured here.", [reading], [], "");
        string line = page.Split('\n').Single(line => line.StartsWith(cell.Messages == 20 ? "- At most two hops" : "- At most 0.1 hops", StringComparison.Ordinal));
        Assert.EndsWith(verdict, line, StringComparison.Ordinal);
    }

    private static GridReading Reading(GridCell cell, double theirs, params double[] ours) =>
        new(cell, [.. ours.Select(time => new GridRound(new GridSample(theirs, 2), new GridSample(time, 0.5), new GridSample(80, 1)))]);
}
