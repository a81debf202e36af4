using Weir.Tables.Blocking;

namespace Weir.Lab.Suites.Tests;

public class BlockingTests
{
    public static TheoryData<string> Makers => [.. BlockingArms.All.Select(static arm => arm.Name).Distinct()];

    [Theory(Timeout = 120_000)]
    [MemberData(nameof(Makers))]
    public async Task RunAsync_AnyMaker_MakesEachCallOnceAndNoMoreAtOnceThanTheLimit(string name)
    {
        int[] made = new int[200];
        int inside = 0;
        int most = 0;
        await BlockingArms.All.First(arm => arm.Name == name).RunAsync(made.Length, 2, item =>
        {
            most = Math.Max(most, Interlocked.Increment(ref inside));
            Interlocked.Increment(ref made[item]);
            Interlocked.Decrement(ref inside);
        });
        Assert.All(made, static count => Assert.Equal(1, count));
        Assert.InRange(most, 1, 2);
    }

    [Fact]
    public void All_EachCell_HasThePlatformAndWeirWithTheSameCalls()
    {
        Assert.Equal(BlockingArms.All.Count, BlockingArms.All.Select(static arm => arm.Key).Distinct().Count());
        Assert.All(
            BlockingArms.All.GroupBy(static arm => (arm.Work, arm.Milliseconds, arm.Limit)),
            static cell => Assert.Equal((2, 1), (cell.Count(), cell.Select(static arm => arm.Calls).Distinct().Count())));
    }

    [Fact]
    public void Parse_ReadingAsText_GivesTheReading()
    {
        BlockingReading reading = new(1.5, 2, 3.25);
        Assert.Equal(reading, BlockingReading.Parse(reading.ToString()));
    }

    [Fact]
    public void Render_PageWithNotes_KeepsThemAndJudgesByTheMedians()
    {
        BlockingArm[] arms = [.. BlockingArms.All.Where(static arm => arm is { Pool: PoolState.Fresh, Kind: "operators", Limit: 4, Milliseconds: <= 100 })];
        double[] times = [100, 90, 100, 120];
        Dictionary<string, List<BlockingReading>> readings = arms.Index().ToDictionary(
            static pair => pair.Item.Key,
            pair => new List<BlockingReading> { new(1, 1, 0), new(times[pair.Index], 4, 7), new(1_000, 9, 9) });
        string page = BlockingPage.Render("Measured here.", arms, readings, "old\n<!-- notes Page -->\nBy hand.\n<!-- /notes -->\nold");
        Assert.Contains("<!-- notes Page -->\nBy hand.\n<!-- /notes -->", page, StringComparison.Ordinal);
        Assert.Contains("| 10 ms | 4 | 300 | 100 ns | 4 | 7 | 90.0 ns | 4 | 7 | 0.90 |", page, StringComparison.Ordinal);
        Assert.Contains("| 100 ms | 4 | 48 | 100 ns | 4 | 7 | 120 ns | 4 | 7 | 1.20 |", page, StringComparison.Ordinal);
        Assert.Contains("- ForEachParallelAsync, in each row: at most 1.1 times Parallel.ForEachAsync: 1.20, **missed**", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Render_OnlySomeWasMeasured_KeepsTheOtherTablesWithTheirProvenance()
    {
        BlockingArm[] fresh = [.. BlockingArms.All.Where(static arm => arm is { Pool: PoolState.Fresh, Kind: "operators", Limit: 4, Milliseconds: 10 })];
        BlockingArm[] wide = [.. BlockingArms.All.Where(static arm => arm is { Pool: PoolState.Wide, Kind: "operators", Limit: 4, Milliseconds: 10 })];
        Dictionary<string, List<BlockingReading>> readings = fresh.ToDictionary(
            static arm => arm.Key, static _ => new List<BlockingReading> { new(100, 4, 7) });
        const string Kept = "## Operators, wide pool\n\nMeasured there.\n\n| of then |\n";
        string page = BlockingPage.Render("Measured here.", [.. fresh, .. wide], readings, $"# Old\n\n## Operators, fresh pool\n\n| old |\n\n{Kept}");
        Assert.Contains("## Operators, fresh pool\n\nMeasured here.\n\n| each call", page, StringComparison.Ordinal);
        Assert.EndsWith($"\n\n{Kept}", page, StringComparison.Ordinal);
        Assert.DoesNotContain("| old |", page, StringComparison.Ordinal);
    }
}
