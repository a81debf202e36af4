namespace Weir.Dataflow.Tests.Blocks;

/// <summary>Every way to make a block that takes strings.</summary>
public enum BlockKind
{
    Action,
    ActionAsync,
    Transform,
    TransformAsync,
    Many,
    ManyAsync,
    ManyStream,
    Buffer,
    Broadcast,
    WriteOnce,
    Batch,
    Join2,
    Join3,
    BatchedJoin2,
    BatchedJoin3,
}
