namespace Weir.Dataflow.Tests.Blocks;

/// <summary>Tests that hold for every maker of blocks. Derived once for the oracle, once for ours, once for both in turn.</summary>
public abstract class Contract<TBlocks> where TBlocks : BlockFactory, new()
{
    /// <summary>Milliseconds after which a test that hangs is a test that failed.</summary>
    protected const int Limit = Probes.Eventually.Limit;

    protected TBlocks Blocks { get; } = new();
}
