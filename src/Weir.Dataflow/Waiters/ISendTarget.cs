namespace Weir.Dataflow.Waiters;

/// <summary>A block's input side, as those see it that wait for room.</summary>
internal interface ISendTarget<T>
{
    /// <summary>Ends a wait from outside. Does nothing if the wait has ended already.</summary>
    void GiveUp(SendWaiter<T> waiter, CancellationToken token);

    /// <summary>Takes back a waiter that is done, for the next time.</summary>
    void Keep(SendWaiter<T> waiter);
}
