using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Links;

/// <summary>The input side of a block, as sources of this library see it that are linked to it.</summary>
internal abstract class DirectTarget<T>
{
    /// <summary>
    /// Whether sources of this library may put messages here under their lock: the block then only stores them, and calls nobody.
    /// </summary>
    public virtual bool AcceptsDirectly => false;

    public abstract bool IsDeclining { get; }

    public abstract bool IsBounded { get; }

    /// <summary>Takes a message from a linked source of this library, if there is room for it now.</summary>
    /// <param name="item">The message.</param>
    /// <param name="sourceId">The source's id, under which it is at work only once at a time.</param>
    /// <param name="after">What has to be done once the source's locks are left, too.</param>
    public abstract bool TryAcceptDirect(T item, int sourceId, out IAfterLock? after);
}
