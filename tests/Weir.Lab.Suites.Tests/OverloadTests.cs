using Weir.Overload;
using Weir.Tables.Overload;

namespace Weir.Lab.Suites.Tests;

/// <summary>What the page of overload makes of its readings. The servers are measured by its command.</summary>
public class OverloadTests
{
    [Fact]
    public void Setting_AsArguments_IsRead()
    {
        Setting setting = new()
        {
            Arm = Arms.NoDeadlines, Server = ServerKind.Knee, Load = 0.5, Notices = true, Changes = true, Warm = 8, Seconds = 10, Seed = 3,
        };
        Assert.Equal(setting, Setting.Parse([.. setting.ToArguments()]));
    }

    [Fact]
    public void Recovery_IsTheFirstSecondFromWhichFiveHaveEnough()
    {
        // Half of the capacity is enough for nobody; the fourth second after the change is the first of a good five.
        Second[] curve = [.. Enumerable.Range(0, 20).Select(static i => new Second(i < 5 ? 200 : 100, i is >= 5 and < 9 ? 40 : 95, 8, 0))];
        Assert.Equal(4, OverloadPage.RecoveryOf(curve, 5, 20));
        Assert.Null(OverloadPage.RecoveryOf(curve, 5, 12));
        Assert.Null(OverloadPage.RecoveryOf(curve, 0, 5));
        Assert.Equal(0, OverloadPage.RecoveryOf(curve, 9, 20));
    }

    [Fact]
    public void Loads_Goals_AreJudgedByTheFiguresOfThePage()
    {
        IEnumerable<Reading> readings =
            from notices in (bool[])[true, false]
            from load in (double[])[0.5, 3]
            from arm in Arms.All
            select new Reading
            {
                Arm = arm, Load = load, Notices = notices, Goodput = notices ? 0.896 : 0.89, CriticalP99 = load > 1 && !notices ? 0.16 : 0.1, Retries = notices ? 0.104 : 0.11,
                Curve = [new Second(200, 200, 9, 0), new Second(200, 200, 9, 0), new Second(200, 200, 12, 0)],
            };
        string text = OverloadPage.Table(OverloadPage.Loads, [.. readings]);
        Assert.Contains("| yes | 3 | 0.90 | 0.90 | 0.90 | 0.90 |", text, StringComparison.Ordinal);
        Assert.Contains("| 9 to 12 |", text, StringComparison.Ordinal);
        Assert.Contains("- the server notices: goodput at least 0.9: 0.90, met\n", text, StringComparison.Ordinal);
        Assert.Contains("- the server notices: at most 1.1 attempts a call: 1.10, met\n", text, StringComparison.Ordinal);
        Assert.Contains("- the server does not notice: goodput at least 0.9: 0.89, **missed**\n", text, StringComparison.Ordinal);
        Assert.Contains("- the server does not notice: p99 of the critical calls at most 1.5 times the unloaded: 1.60, **missed**\n", text, StringComparison.Ordinal);
        Assert.Contains("- the server does not notice: at most 1.1 attempts a call: 1.11, **missed**\n", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(1.0, "within 10 s of each change: 14 of 14, the worst 0 s, met")]
    [InlineData(0.8, "within 10 s of each change: 0 of 14, the worst not before the next change, **missed**")]
    public void Changes_Goal_CountsEachChangeOfEachRound(double share, string verdict)
    {
        Change[] changes = [.. Change.Within(240)];
        Second[] curve = [.. Enumerable.Range(0, 241).Select(i =>
        {
            double capacity = changes.Last(change => change.At <= i).Capacity;
            return new Second(capacity, (int)(share * capacity), 8, 0);
        })];
        string text = OverloadPage.Table(OverloadPage.Changes, [.. Arms.All.Select(arm => new Reading { Arm = arm, Seconds = 240, Curve = curve })]);
        Assert.Contains(verdict, text, StringComparison.Ordinal);
        Assert.Contains("| 50 | 400 |", text, StringComparison.Ordinal);
    }
}
