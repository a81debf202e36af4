using Weir.Lab.ColdStart;
using Weir.Lab.Processes;
using Weir.Lab.Suites.Peers;
using Weir.Tables.Startup;

namespace Weir.Lab.Suites.Tests;

public class ColdStartTests
{
    private static readonly ColdBuild Plain = new("plain IL", "");
    private static readonly ColdArm Baseline = new("20 items", "ForEachAsync", static () => Task.FromResult(0L), ColdKind.Baseline);

    public static TheoryData<string> Arms => [.. ColdArms.All.Select(static arm => arm.Key)];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Arms))]
    public async Task Call_AnyArm_GivesTheSumOfAllResults(string key) => Assert.Equal(ColdArms.Sum, await ColdArms.Find(key)!.Call());

    [Fact]
    public void All_FirstOfEachWork_IsItsOnlyBaseline() => Assert.All(
        ColdArms.All.GroupBy(static arm => arm.Work),
        static work => Assert.Equal([work.First()], work.Where(static arm => arm.Kind == ColdKind.Baseline)));

    [Fact]
    public void Find_UnknownKey_IsNull() => Assert.Null(ColdArms.Find("nonsense"));

    [Fact]
    public void Project_InsideOfTheRepository_IsThatOfTheArms() =>
        Assert.EndsWith(typeof(ColdArms).Assembly.GetName().Name + ".csproj", ColdBuilds.Project(), StringComparison.Ordinal);

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Program_AnArm_PrintsItsReading()
    {
        ChildEnd end =
            await ColdBuilds.Start(["exec", typeof(ColdArms).Assembly.Location, ColdArms.All[0].Key], TestContext.Current.CancellationToken)();
        ColdReading reading = ColdReading.Parse(end.Output.Trim());
        Assert.Equal(0, end.Code);
        Assert.True(reading is { Nanoseconds: > 0, Methods: > 0, CompilingNanoseconds: > 0 }, end.Output);
        Assert.Equal(reading, ColdReading.Parse(reading.ToString()));
    }

    [Fact]
    public void Render_PageWithNotes_KeepsThemAndJudgesByTheirInterval()
    {
        ColdArm weir = Baseline with { Name = "Weir", Kind = ColdKind.Ours };
        ColdArm peer = Baseline with { Name = "WhenAll", Kind = ColdKind.Peer };
        Dictionary<string, List<ColdReading>> readings = new()
        {
            [Plain.KeyOf(Baseline.Key)] = [new(1e6, 10, 5e5), new(2e6, 12, 5e5), new(4e6, 11, 5e5)],
            [Plain.KeyOf(weir.Key)] = [new(2.1e6, 20, 9e5), new(4.2e6, 20, 9e5), new(4e6, 20, 9e5)],
            [Plain.KeyOf(peer.Key)] = [new(5e5, 5, 1e5), new(5e5, 5, 1e5), new(5e5, 5, 1e5)],
        };
        string page = ColdPage.Render("Measured here.", [Plain], [Baseline, weir, peer], readings, "old\n<!-- notes Page -->\nBy hand.\n<!-- /notes -->\nold");
        Assert.Contains("<!-- notes Page -->\nBy hand.\n<!-- /notes -->", page, StringComparison.Ordinal);
        Assert.Contains("| ForEachAsync | 2.00 ms | 1 | 11 | 500 us |", page, StringComparison.Ordinal);
        Assert.Contains("| Weir | 4.00 ms | 2.10 | 20 | 900 us |", page, StringComparison.Ordinal);
        Assert.Contains("- Weir, plain IL: at most 2 times ForEachAsync: 2.10 [1.00..2.10], undecided: missed by 5 % by the median alone", page, StringComparison.Ordinal);
        Assert.DoesNotContain("- WhenAll", page, StringComparison.Ordinal);
    }
}
