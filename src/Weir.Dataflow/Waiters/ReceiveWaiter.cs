using Weir.Core;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Waiters;

/// <summary>
/// A receiver that waits for one message of a source, or until there is one. It stands among the source's links and takes its turn with them.
/// The thread that takes it out of that list, under the source's lock, completes it.
/// </summary>
internal abstract class ReceiveWaiter<T>(ReceiveSource<T> source, bool takesMessage) : LinkNode<T>, IUnattended, IAfterLock
{
    protected ReceiveSource<T> Source { get; } = source;

    /// <summary>Whether it takes the message, or only wants to know of it.</summary>
    public bool TakesMessage { get; } = takesMessage;

    /// <summary>Why the waiting ended without a message, when it was given up before it began. Guarded by the source's lock.</summary>
    public bool IsGivenUp { get; set; }

    public CancellationTokenRegistration Registration { get; set; }

    protected T? Item { get; set; }

    /// <summary>The message is this waiter's. Called under the lock; the waiter learns of it in <see cref="AfterLock"/>.</summary>
    public void Give(T item) => Item = item;

    /// <summary>Completes this waiter and those chained to it.</summary>
    public void AfterLock()
    {
        ReceiveWaiter<T>? waiter = this;
        while (waiter is not null)
        {
            ReceiveWaiter<T>? next = (ReceiveWaiter<T>?)waiter.Next;
            waiter.Next = null;
            if (waiter.TakesMessage)
            {
                waiter.Source.OnTakenByWaiter(waiter.Item!);
            }

            waiter.Succeed();
            waiter = next;
        }
    }

    public void Abandon(CancellationToken token) => Source.GiveUp(this, timedOut: false, token);

    /// <summary>The source completed without a message for this waiter.</summary>
    public abstract void SourceEnded();

    /// <summary>
    /// It could not be given up: once more. If it only failed, it would stay among the source's links, and a message that goes to it would be lost.
    /// </summary>
    void IUnattended.WorkFailed(Exception error) =>
        Source.GiveUp(this, timedOut: !Registration.Token.IsCancellationRequested, Registration.Token);

    /// <summary>There is a message, but it cannot be taken.</summary>
    public abstract void Fail(Exception exception);

    /// <summary>The token was cancelled, or the time is up.</summary>
    public abstract void GiveUp(bool timedOut, CancellationToken token);

    protected abstract void Succeed();
}
