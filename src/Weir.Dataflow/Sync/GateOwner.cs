namespace Weir.Dataflow.Sync;

/// <summary>
/// A thread that has a gate for itself. An object of its own for each ownership: an owner that lost the gate between two instructions still
/// writes here, and must not write into its successor's.
/// </summary>
internal sealed class GateOwner(int thread)
{
    public readonly int Thread = thread;

    /// <summary>Whether the thread is inside. Written by it alone.</summary>
    public int Inside;
}
