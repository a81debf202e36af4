namespace Weir.Dataflow.Cores;

/// <summary>
/// A block with one worker that leads where several might work, because its calls are short. What is called here runs on the watch's thread, which is that of
/// all blocks and runs: so it calls nothing of the user's, whose scheduler may block.
/// </summary>
internal interface ILeaderBlock
{
    ParallelState Parallel { get; }

    /// <summary>How many messages were claimed since the block began.</summary>
    long Claimed { get; }

    /// <summary>The leader may be inside a call that lasts, and somebody else should look.</summary>
    void AddStandby();

    /// <summary>It does not get on, or has nothing to do: as many workers as there may be, again.</summary>
    void EndLead();
}
