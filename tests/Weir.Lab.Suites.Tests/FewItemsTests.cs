using Weir.Cli.Kit.Hosting;
using Weir.Lab.Work;
using Weir.Tables.FewItems;

namespace Weir.Lab.Suites.Tests;

public class FewItemsTests
{
    public static TheoryData<string> Cells => [.. FewItemsRun.Select(["20/*/8", "20/*/threads/*"]).Select(static cell => cell.Name)];

    [Theory(Timeout = 120_000)]
    [MemberData(nameof(Cells))]
    public async Task Arms_AnyCell_CallEachItemOnce(string name)
    {
        FewItemsCell cell = Assert.Single(FewItemsRun.Select([name]));
        int[] calls = new int[cell.Count];
        FewItemsArms arms = new(cell, CalibratedSpin.MeasureStepsPerSecond(), item => Interlocked.Increment(ref calls[item]));
        await arms.TheirsAsync();
        Assert.All(calls, static count => Assert.Equal(1, count));
        await arms.OursAsync();
        Assert.All(calls, static count => Assert.Equal(2, count));
    }

    [Fact(Timeout = 120_000)]
    public async Task MeasureAsync_ACell_HasTimesAndHopsOfBoth()
    {
        FewItemsArms arms = new(new FewItemsCell(5, FewItemsWork.Yield, FewItemsSource.Lazy, 8), 1e9);
        FewItemsReading reading = await arms.MeasureAsync(3, TimeSpan.Zero, TestContext.Current.CancellationToken);
        Assert.True(reading is { Theirs: > 0, Ours: > 0, Ratio: > 0, TheirHops: > 0.5, OurHops: > 0.5 }, $"{reading}");
    }

    [Fact]
    public void All_EachCell_HasItsOwnNameAndGoal()
    {
        Assert.Equal(5 * 7 * 3 * 3, FewItemsCell.All.Select(static cell => cell.Name).Distinct().Count());
        Assert.All(FewItemsCell.All, static cell => Assert.Equal(cell is { Count: 1, Work: FewItemsWork.Nothing } ? 1.2 : 1.1, cell.MostRatio));
        Assert.Equal(9, FewItemsCell.All.Count(static cell => cell.TakesTooLong));
    }

    [Fact]
    public void Select_Patterns_GiveTheCellsOfAny()
    {
        Assert.Equal(3 + 10, FewItemsRun.Select(["5/block-1ms/*/8", "1/yield/*"]).Length);
        Assert.Throws<BadInputException>(static () => FewItemsRun.Select(["2000/block-10ms/*"]));
    }

    [Fact]
    public void Render_SomeCells_SaysTheAnswerFirstThenTheWorstRowsAndKeepsNotes()
    {
        FewItemsReading met = new(new FewItemsCell(1, FewItemsWork.Nothing, FewItemsSource.Array, 8), 1_000, 1_150, 1.15, 2, 1);
        FewItemsReading missed = new(new FewItemsCell(2_000, FewItemsWork.Block1ms, FewItemsSource.Lazy, 64), 1_000, 1_150, 1.15, 2, 1);
        string page = FewItemsPage.Render("Measured here.", [met, missed], "old\n<!-- notes Page -->\nBy hand.\n<!-- /notes -->\nold");
        Assert.Contains("and for one item of nothing by 20 %: met in 1 of 2 rows.** The median ratio is 1.15. This is a part", page, StringComparison.Ordinal);
        Assert.Contains("<!-- notes Page -->\nBy hand.\n<!-- /notes -->", page, StringComparison.Ordinal);
        string[] rows =
        [
            "| 2,000 | blocks for 1 ms | lazy | 64 | 1.00 us | 1.15 us | **1.15** | 1.1 | 2.00 | 1.00 |",
            "| 1 | does nothing | array | 8 | 1.00 us | 1.15 us | 1.15 | 1.2 | 2.00 | 1.00 |",
            "| 1 | array | 8 | 1.00 us | 1.15 us | 1.15 | 1.2 | 2.00 | 1.00 |",
            "| 2,000 | lazy | 64 | 1.00 us | 1.15 us | **1.15** | 1.1 | 2.00 | 1.00 |",
        ];
        int[] places = [.. rows.Select(row => page.IndexOf(row, StringComparison.Ordinal))];
        Assert.DoesNotContain(-1, places);
        Assert.Equal(places.Order(), places);
        Assert.Contains("2,000 items, blocks for 10 ms, limit 2, ", page, StringComparison.Ordinal);
    }
}
