namespace Weir.Dataflow.Links;

/// <summary>One entry in a source's list of those who want its messages: a linked target, or somebody who waits for one message.</summary>
internal abstract class LinkNode<T> : ListNode<LinkNode<T>>
{
    /// <summary>Grows from the first to the last node, so that a walk through the list finds its position again when its node was removed.</summary>
    // Not an int: each call that waits for a message counts, and a block may live for long.
    public long Order { get; set; }
}
