namespace Weir.Core.Dispatch;

/// <summary>
/// Items of a caller that are one item for the engine. The engine need not know their types, so one run serves all of them, and it is compiled ahead of time.
/// </summary>
internal abstract class WorkRange
{
    // Not protected, like the setter: what is protected is not compiled ahead if only other assemblies call it.
    internal WorkRange()
    {
    }

    /// <summary>The index of the first item.</summary>
    public long First { get; internal set; }

    /// <summary>Whether the item that the range waits for has ended.</summary>
    public abstract bool HasItemEnded { get; }

    /// <summary>Whether it has ended with a result.</summary>
    public abstract bool HasItemSucceeded { get; }

    /// <summary>Runs the items, until one of them suspends.</summary>
    public abstract RangePending Run(CancellationToken cancellationToken);

    /// <summary>Makes sure that the item that the range waits for calls back exactly once.</summary>
    public abstract void ItemBecomesTask();

    /// <summary>Calls back when the item that the range waits for ends.</summary>
    public abstract void OnItemEnded(Action continuation);

    /// <summary>Takes the outcome of the item that the range waited for.</summary>
    public abstract void TakeItem();

    /// <summary>The worker has finished the range, which was not given up.</summary>
    public abstract void End();
}
