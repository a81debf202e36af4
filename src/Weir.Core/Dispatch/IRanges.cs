using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>The ranges of a run, as the run sees them.</summary>
internal interface IRanges
{
    /// <summary>Items at or beyond this index may not start yet.</summary>
    long Ceiling { get; }

    /// <summary>Gives up the range that starts with a given item.</summary>
    void GiveUp(long first, ItemStatus status, Exception? error);

    /// <summary>The run has ended. See <see cref="ISink{TResult}.Complete"/>.</summary>
    void Complete(RunEnd end);
}
