namespace Weir;

/// <summary>Which item of a <see cref="WorkQueue{T}"/> is next.</summary>
public enum WorkQueueOrder
{
    /// <summary>The one that was added first: level by level, breadth first.</summary>
    OldestFirst = 0,

    /// <summary>The one that was added last: depth first, which keeps the queue of a tree short.</summary>
    NewestFirst = 1,
}
