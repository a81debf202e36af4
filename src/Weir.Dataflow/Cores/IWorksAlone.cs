namespace Weir.Dataflow.Cores;

/// <summary>A block with one worker where there may be more, because its calls are short.</summary>
internal interface IWorksAlone
{
    ParallelState Parallel { get; }

    /// <summary>How many messages were claimed since the block began.</summary>
    long Claimed { get; }

    /// <summary>As many workers as there may be, again.</summary>
    void EndAlone();
}
