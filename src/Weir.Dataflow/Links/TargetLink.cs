using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>A target that was linked with LinkTo.</summary>
internal sealed class TargetLink<T>(ITargetBlock<T> target, DataflowLinkOptions options) : LinkNode<T>
{
    public ITargetBlock<T> Target { get; } = target;

    public bool PropagatesCompletion { get; } = options.PropagateCompletion;

    /// <summary>How many messages the link still passes; negative when there is no limit.</summary>
    public int Remaining { get; private set; } = options.MaxMessages;

    /// <summary>Whether the link was made while the head was being offered to others, and has not been asked itself.</summary>
    public bool AwaitsHead { get; set; }

    /// <summary>The input side of the target, when messages may be put there without the whole protocol.</summary>
    public DirectTarget<T>? Direct { get; } =
        options.MaxMessages == DataflowBlockOptions.Unbounded && target is ICoreTarget<T> { Core: { AcceptsDirectly: true } core } ? core : null;

    /// <summary>Counts one message.</summary>
    /// <returns>Whether it was the last one that the link was made for.</returns>
    public bool CountDown() => Remaining > 0 && --Remaining == 0;
}
