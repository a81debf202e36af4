namespace Weir.Lab.Suites;

/// <summary>A suite of blocks: its runs last for milliseconds, and one that does not end soon never ends.</summary>
public abstract class DataflowSuite : Suite
{
    internal override TimeSpan Patience => TimeSpan.FromSeconds(10);

    private protected override long? ExpectedCalls(string category) => null;

    /// <summary>Messages of these arms come one right after the other, so none needs a thread of its own.</summary>
    private protected static IEnumerable<Goal> Dense(params string[] arms) => arms.Select(static arm => Goal.HopsPerItem(arm, 0.1));
}
