namespace Weir.Lab.Suites;

/// <summary>A suite of blocks: its runs last for milliseconds, and one that does not end soon never ends.</summary>
public abstract class DataflowSuite : Suite
{
    internal override TimeSpan Patience => TimeSpan.FromSeconds(10);

    private protected override long? ExpectedCalls(string category) => null;
}
