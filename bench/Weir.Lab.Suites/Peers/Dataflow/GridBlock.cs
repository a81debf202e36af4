namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>The blocks of the grid, in the order of its page.</summary>
internal enum GridBlock
{
    Action,
    Transform,
    TransformMany,
    Buffer,
    Broadcast,
    WriteOnce,
    Batch,
    Join2,
    Join3,
    BatchedJoin,
}
