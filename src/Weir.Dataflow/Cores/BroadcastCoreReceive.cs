using System.Diagnostics.CodeAnalysis;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>Waiting for the current message.</content>
internal sealed partial class BroadcastCore<T> : IReceiveSource<T>
{
    private SpareWaiters<T>? _spares;

    public bool IsCompleted => _completion.IsCompleted;

    ref SpareWaiters<T>? IReceiveSource<T>.Spares => ref _spares;

    public bool TryReceive([MaybeNullWhen(false)] out T item) => TryReceive(null, out item);

    public bool IsReceivable()
    {
        lock (this)
        {
            return _hasCurrent;
        }
    }

    public void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        bool ended;
        bool current;
        lock (this)
        {
            ended = _ended;
            current = _hasCurrent;
            if (!waiter.IsGivenUp && !current && !ended)
            {
                _links.Add(waiter, append: true);
                return;
            }
        }

        if (waiter.IsGivenUp)
        {
            waiter.GiveUp(timedOut: !cancellationToken.IsCancellationRequested, cancellationToken);
        }
        else if (!current)
        {
            waiter.SourceEnded();
        }
        else
        {
            Serve(waiter);
        }
    }

    public void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token)
    {
        bool removed;
        lock (this)
        {
            removed = _links.Remove(waiter);
            waiter.IsGivenUp = true;
        }

        if (removed)
        {
            waiter.GiveUp(timedOut, token);
        }
    }

    // A copy went: the message itself is still here, and its place was never the waiter's.
    public void LeftToWaiter(T item)
    {
    }

    /// <summary>Gives a copy of the current message to a waiter in the list, in its turn.</summary>
    private void GiveTo(ReceiveWaiter<T> waiter)
    {
        _links.Remove(waiter);
        try
        {
            Serve(waiter);
        }
        catch
        {
            waiter.SourceEnded();
            throw;
        }
    }

    private void Serve(ReceiveWaiter<T> waiter)
    {
        if (waiter.TakesMessage)
        {
            waiter.Give(Copy(_current!));
        }

        waiter.AfterLock();
    }
}
