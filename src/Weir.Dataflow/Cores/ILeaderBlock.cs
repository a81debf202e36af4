namespace Weir.Dataflow.Cores;

/// <summary>
/// A block that may have several workers, but in which one leads, because its calls are short. These members run on the watch's thread, which all blocks and
/// runs share. So they never call user code, whose scheduler may block.
/// </summary>
internal interface ILeaderBlock
{
    ParallelState Parallel { get; }

    /// <summary>How many messages were claimed since the block began.</summary>
    long Claimed { get; }

    /// <summary>The leader may be inside a long call, so another worker should look.</summary>
    void AddStandby();

    /// <summary>The leader makes no progress or has nothing to do: all workers may work again.</summary>
    void EndLead();
}
