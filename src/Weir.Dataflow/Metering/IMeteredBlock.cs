namespace Weir.Dataflow.Metering;

/// <summary>A block whose counts can be read at any time, without a lock.</summary>
internal interface IMeteredBlock
{
    /// <summary>What kind of block it is.</summary>
    Type Type { get; }

    /// <summary>The name that its options give it, or null.</summary>
    string? Name { get; }

    BlockSample Sample();
}
