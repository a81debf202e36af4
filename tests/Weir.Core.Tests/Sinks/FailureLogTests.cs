using Weir.Core.Sinks;

namespace Weir.Core.Tests.Sinks;

public class FailureLogTests
{
    private static readonly FormatException First = new();
    private static readonly ArgumentException Second = new();

    [Fact]
    public void AddItem_FailFast_StopsAndKeepsTheFirst()
    {
        FailureLog log = new(ErrorMode.FailFast);
        Assert.True(log.AddItem(5, First));
        Assert.True(log.AddItem(1, Second));
        Assert.Same(First, log.Single);
        Assert.Null(log.Collected);
    }

    [Fact]
    public void AddItem_CollectAndContinue_KeepsAllInSourceOrderAndTheSourceLast()
    {
        FailureLog log = new(ErrorMode.CollectAndContinue);
        Assert.False(log.AddItem(5, First));
        log.AddSource(new TimeoutException());
        Assert.False(log.AddItem(1, Second));
        Assert.Null(log.Single);
        Assert.Equal([1, 5, -1], log.Collected!.Select(static f => f.Index));
    }

    [Fact]
    public void AddItem_BestEffort_KeepsNothingButASourceError()
    {
        FailureLog log = new(ErrorMode.BestEffort);
        Assert.False(log.AddItem(5, First));
        Assert.Null(log.Single);
        Assert.Null(log.Collected);
        log.AddSource(Second);
        Assert.Same(Second, log.Single);
    }
}
