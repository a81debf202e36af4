using System.Diagnostics.CodeAnalysis;
using Weir.Dataflow.Debugging;

namespace Weir.Dataflow.Waiters;

/// <summary>A block's output side, as those see it that wait for a message.</summary>
internal interface IReceiveSource<T> : IViewable
{
    Task Completion { get; }

    /// <summary>Whether the block is complete; makes no task.</summary>
    bool IsCompleted { get; }

    /// <summary>Waiters that are done, kept for the next time.</summary>
    ref SpareWaiters<T>? Spares { get; }

    bool TryReceive([MaybeNullWhen(false)] out T item);

    bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item);

    bool TryReceiveAll([NotNullWhen(true)] out IList<T>? items);

    bool IsReceivable();

    /// <summary>Completes the waiter, or puts it into the list of links.</summary>
    void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken);

    /// <summary>Ends a wait from outside. Does nothing if the wait has ended already.</summary>
    void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token);

    /// <summary>A message went to a waiter. Called under no lock.</summary>
    void OnTakenByWaiter(T item);
}
