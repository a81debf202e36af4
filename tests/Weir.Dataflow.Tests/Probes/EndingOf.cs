namespace Weir.Dataflow.Tests.Probes;

/// <summary>What ends a block, or one of its targets.</summary>
public enum EndingOf
{
    FirstTarget,
    SecondTarget,
    ThirdTarget,
    Block,
    Fault,
    Cancel,
}
