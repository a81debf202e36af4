using System.Diagnostics.CodeAnalysis;
using Weir.Dataflow.Debugging;

namespace Weir.Dataflow.Waiters;

/// <summary>A block's output side, as those see it that receive or wait for a message.</summary>
internal abstract class ReceiveSource<T> : IViewable
{
    /// <summary>Waiters that are done, kept for the next time.</summary>
    public SpareWaiters<T>? Spares;

    public abstract Task Completion { get; }

    /// <summary>Whether the block is complete; makes no task.</summary>
    public abstract bool IsCompleted { get; }

    public abstract bool TryReceive([MaybeNullWhen(false)] out T item);

    public abstract bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item);

    public abstract bool TryReceiveAll([NotNullWhen(true)] out IList<T>? items);

    public abstract bool IsReceivable();

    /// <summary>Completes the waiter, or puts it into the list of links.</summary>
    public abstract void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken);

    /// <summary>Ends a wait from outside. Does nothing if the wait has ended already.</summary>
    public abstract void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token);

    /// <summary>A message went to a waiter. Called under no lock. Nothing to do where it was a copy.</summary>
    public virtual void OnTakenByWaiter(T item)
    {
    }

    /// <inheritdoc/>
    public abstract void Show(BlockView view);
}
