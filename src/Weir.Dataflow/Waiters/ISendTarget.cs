namespace Weir.Dataflow.Waiters;

/// <summary>A block's input side, as those see it that wait for room.</summary>
internal interface ISendTarget<T>
{
    /// <summary>Ends a waiting from outside. Who comes too late does nothing.</summary>
    void GiveUp(SendWaiter<T> waiter, CancellationToken token);

    /// <summary>Takes back a waiter that is done, for the next time.</summary>
    void Keep(SendValueWaiter<T> waiter);
}
