namespace Weir.PostgreSql.Tests.Changes;

/// <summary>Since when a place in the log is behind, of readings that a test gives.</summary>
public sealed class LogEndsTests
{
    [Fact]
    public void LagAt_FirstReadingBehind_IsNotKnown()
    {
        var ends = new LogEnds();
        Assert.Null(ends.LagAt(position: 10, end: 20, at: 100));
        Assert.Equal(100, ends.LagAt(position: 10, end: 25, at: 115));
        Assert.Equal(100, ends.LagAt(position: 12, end: 30, at: 130));
    }

    [Fact]
    public void LagAt_AtTheEnd_IsNow()
    {
        var ends = new LogEnds();
        Assert.Equal(100, ends.LagAt(position: 20, end: 20, at: 100));

        // Behind by what came since: from now on.
        Assert.Equal(115, ends.LagAt(position: 20, end: 30, at: 115));
        Assert.Equal(115, ends.LagAt(position: 20, end: 30, at: 130));
        Assert.Equal(145, ends.LagAt(position: 35, end: 35, at: 145));
    }

    [Fact]
    public void LagAt_CatchesUpInPart_IsSinceTheFirstReadingBeyond()
    {
        var ends = new LogEnds();
        ends.LagAt(position: 10, end: 10, at: 0);
        ends.LagAt(position: 10, end: 20, at: 15);
        ends.LagAt(position: 10, end: 30, at: 30);
        Assert.Equal(15, ends.LagAt(position: 19, end: 40, at: 45));
        Assert.Equal(30, ends.LagAt(position: 20, end: 40, at: 60));
        Assert.Equal(45, ends.LagAt(position: 39, end: 40, at: 75));
        Assert.Equal(90, ends.LagAt(position: 40, end: 50, at: 90));
    }

    [Fact]
    public void LagAt_BehindForLong_KeepsTheFirstAndFewOthers()
    {
        var ends = new LogEnds();
        ends.LagAt(position: 1, end: 1, at: 0);
        for (ulong i = 2; i < 100_000; i++)
        {
            Assert.Equal(2, ends.LagAt(position: 1, end: i, at: (long)i));
        }

        // Those in between are fewer than there were, but the time is never longer than the truth.
        Assert.InRange(ends.LagAt(position: 50_000, end: 100_000, at: 100_000)!.Value, 50_001, 51_000);
        Assert.InRange(ends.Count, 2, 1024);
    }
}
