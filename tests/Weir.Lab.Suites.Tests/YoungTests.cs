using Weir.Lab.Suites.Young;

namespace Weir.Lab.Suites.Tests;

public class YoungTests
{
    public static TheoryData<string> Arms => [.. YoungArms.All.Select(static arm => arm.Key)];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Arms))]
    public async Task Prepare_AnyArm_GivesTheSumOfAllResults(string key)
    {
        YoungArm arm = YoungArms.All.Single(arm => arm.Key == key);
        Assert.Equal((long)arm.Items * (arm.Items + 1), await arm.Prepare()());
    }

    [Fact]
    public void All_Baselines_AreArmsOfTheSameWork() => Assert.All(
        YoungArms.All,
        static arm =>
            Assert.True(arm.Baseline is null || YoungArms.All.Any(other => other.Work == arm.Work && other.Name == arm.Baseline && other.Baseline is null)));

    [Fact]
    public void Parse_ReadingAsText_GivesTheReading()
    {
        YoungReading reading = new(1.5, 2, 3.25, 1e9);
        Assert.Equal(reading, YoungReading.Parse(reading.ToString()));
    }

    [Fact]
    public void Render_PageWithNotes_KeepsThemAndJudgesByTheMedianOfTheRounds()
    {
        YoungArm loop = new("list of 10", "plain loop", 10, static () => static () => Task.FromResult(0L));
        YoungArm weir = loop with { Name = "Weir", Baseline = "plain loop", MostRatio = 1 };
        Dictionary<string, List<YoungReading>> readings = new()
        {
            [loop.Key] = [new(100, 100, 100, 100), new(200, 200, 200, 200), new(400, 400, 400, 400)],
            [weir.Key] = [new(150, 50, 50, 50), new(300, 100, 100, 100), new(100, 800, 800, 800)],
        };
        string page = YoungPage.Render("Measured here.", [loop, weir], readings, "old <!-- notes -->\nBy hand.\n<!-- /notes -->\nold");
        Assert.Contains("<!-- notes -->\nBy hand.\n<!-- /notes -->", page, StringComparison.Ordinal);
        Assert.Contains("| Weir | 150 ns | 1.50 | 15.0 | 100 ns | 0.50 | 10.0 |", page, StringComparison.Ordinal);
        Assert.Contains("- Weir, first call: at most 1 times plain loop: 1.50, **missed**", page, StringComparison.Ordinal);
        Assert.Contains("- Weir, first 10: at most 1 times plain loop: 0.50, met", page, StringComparison.Ordinal);
    }
}
