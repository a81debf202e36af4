using System.Globalization;
using Weir.Audit.Checks;
using Weir.Audit.Report;

namespace Weir.Cli.Tests.Commands.Audit;

/// <summary>The audit's own judgement, on what a million items could have come to. No server takes part.</summary>
public class AuditJudgeTests
{
    private const int Million = 1_000_000;
    private const int Keys = 16;

    [Theory]
    [InlineData(0)]
    [InlineData(Keys)]
    public void Counts_AMillionAppliedOnce_BreakNothing(int keys) =>
        Assert.Equal([], Judge(keys, static n => [n]).FindBroken(isQuiet: true));

    [Theory]
    [InlineData(1)]
    [InlineData(617_283)]
    [InlineData(Million)]
    public void Counts_OneLossInAMillion_IsFound(long lost)
    {
        AuditCounts counts = Judge(Keys, n => n == lost ? [] : [n]);
        Assert.Equal(["1 lost"], counts.FindBroken());
        Assert.Equal(Million - 1, counts.Applied);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(617_283)]
    [InlineData(Million)]
    public void Counts_OneDuplicateInAMillion_IsFound(long twice) =>
        Assert.Equal(["1 applied twice"], Judge(0, n => n == twice ? [n, n] : [n]).FindBroken());

    // The number of effects is right.
    [Fact]
    public void Counts_OneLossBesideOneDuplicate_AreBothFound() =>
        Assert.Equal(["1 lost", "1 applied twice"], Judge(0, static n => n == 5 ? [] : n == 6 ? [n, n] : [n]).FindBroken());

    [Fact]
    public void Counts_EffectsInAnotherOrder_AreLateWithKeysOnly()
    {
        // 1 and 17 have the same key; 17 comes first.
        static long[] Swapped(long number) => number switch { 1 => [17, 1], 17 => [], _ => [number] };
        Assert.Equal(["1 out of order"], Judge(Keys, Swapped).FindBroken());
        Assert.Equal([], Judge(0, Swapped).FindBroken());
    }

    [Fact]
    public void Counts_EffectOfNobodysChangeOrOfAnotherKey_IsFound()
    {
        AuditJudge judge = new();
        judge.Publish(1, "a");
        judge.Publish(2, "b");
        judge.Apply(1, "a");
        judge.Apply(2, "a");
        judge.Apply(3, "b");
        judge.Apply(3, "b");
        Assert.Equal(["1 lost", "1 applied twice", "2 applied but never published"], (judge.Counts with { Asked = 2 }).FindBroken());
    }

    [Theory]
    [InlineData(Million + 1, "1 not published")]
    [InlineData(Million - 1, "1 published beyond what was asked")]
    public void FindBroken_ACountThatIsWrong_IsFound(long asked, string broken) =>
        Assert.Equal([broken], (Judge(0, static n => [n]) with { Asked = asked }).FindBroken());

    [Fact]
    public void FindBroken_DeliveredAgain_IsAFaultOnlyWhereNothingHappened()
    {
        AuditCounts counts = Judge(0, static n => [n]) with { DeliveredAgain = 3 };
        Assert.Equal([], counts.FindBroken());
        Assert.Equal(["3 delivered again without a fault"], counts.FindBroken(isQuiet: true));
    }

    [Fact]
    public void Since_ABrokenRoundAmongGoodOnes_IsThatRoundsAlone()
    {
        AuditCounts first = new() { Asked = 10, Published = 10, Applied = 9, Lost = 1 };
        AuditCounts second = new() { Asked = 20, Published = 20, Applied = 19, Lost = 1 };
        Assert.Equal([], second.Since(first).FindBroken());
        Assert.Equal(second, first.Plus(second.Since(first)));
    }

    [Fact]
    public void Recoveries_RoundsWithAndWithoutAKill_AreSetSideBySide()
    {
        AuditRecoveries recoveries = Assert.Single(AuditRecoveries.Of(
        [
            Round("users", 4, null),
            Round("users", 40, new AuditRecovery(31, 900), "worker 1 killed"),
            Round("users", 6, null),
            Round("users", 50, new AuditRecovery(33, 700), "worker 2 killed"),
            Round("faults", 9, null, "worker 1 restarted"),
        ]));
        Assert.Equal(new AuditRecoveries("users", 2, 32, 33, 900, 5), recoveries);

        static AuditRoundRecord Round(string scenario, double seconds, AuditRecovery? recovery, params string[] faults) =>
            new(scenario, 1, faults, new AuditCounts(), [], seconds, recovery);
    }

    private static AuditCounts Judge(int keys, Func<long, long[]> effects)
    {
        AuditJudge judge = new();
        for (long number = 1; number <= Million; number++)
        {
            judge.Publish(number, KeyOf(number));
        }

        for (long number = 1; number <= Million; number++)
        {
            foreach (long applied in effects(number))
            {
                judge.Apply(applied, KeyOf(applied));
            }
        }

        return judge.Counts with { Asked = Million };

        string KeyOf(long number) => keys == 0 ? "" : string.Create(CultureInfo.InvariantCulture, $"{number % keys}");
    }
}
