using Weir.Tables.Startup;

namespace Weir.Lab.Suites.Tests;

public class WarmUpTests
{
    public static TheoryData<string> Arms => [.. WarmUpArms.All.Select(static arm => arm.Key)];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Arms))]
    public async Task Prepare_AnyArm_GivesTheSumOfAllResults(string key)
    {
        WarmUpArm arm = WarmUpArms.All.Single(arm => arm.Key == key);
        Assert.Equal((long)arm.Items * (arm.Items + 1), await arm.Prepare()());
    }

    [Fact]
    public void All_Baselines_AreArmsOfTheSameWork() => Assert.All(
        WarmUpArms.All,
        static arm =>
            Assert.True(arm.Baseline is null || WarmUpArms.All.Any(other => other.Work == arm.Work && other.Name == arm.Baseline && other.Baseline is null)));

    [Fact]
    public void Parse_ReadingAsText_GivesTheReading()
    {
        WarmUpReading reading = new(1.5, 2, 3.25, 1e9);
        Assert.Equal(reading, WarmUpReading.Parse(reading.ToString()));
    }

    [Fact]
    public void Render_PageWithNotes_KeepsThemAndJudgesByTheirInterval()
    {
        WarmUpArm loop = new("list of 10", "plain loop", 10, static () => static () => Task.FromResult(0L));
        WarmUpArm weir = loop with { Name = "Weir", Baseline = "plain loop", MostRatio = 1 };
        Dictionary<string, List<WarmUpReading>> readings = new()
        {
            [loop.Key] = [new(100, 100, 100, 100), new(200, 200, 200, 200), new(400, 400, 400, 400)],
            [weir.Key] = [new(150, 50, 50, 50), new(300, 100, 100, 100), new(100, 800, 800, 800)],
        };
        string page = WarmUpPage.Render("Measured here.", [loop, weir], readings, "old\n<!-- notes Page -->\nBy hand.\n<!-- /notes -->\nold");
        Assert.Contains("<!-- notes Page -->\nBy hand.\n<!-- /notes -->", page, StringComparison.Ordinal);
        Assert.Contains("| Weir | 150 ns | 1.50 | 15.0 | 100 ns | 0.50 | 10.0 |", page, StringComparison.Ordinal);
        Assert.Contains("- Weir, first call: at most 1 times plain loop: 1.50 [0.25..1.50], undecided: missed by 50 % by the median alone", page, StringComparison.Ordinal);
        Assert.Contains("- Weir, first 10: at most 1 times plain loop: 0.50 [0.50..2.00], undecided: met by the median alone", page, StringComparison.Ordinal);
    }
}
