using System.Diagnostics.CodeAnalysis;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>Waiting for the message.</content>
internal sealed partial class WriteOnceCore<T> : IReceiveSource<T>
{
    private SpareWaiters<T>? _spares;

    public bool IsCompleted => _completion.IsCompleted;

    ref SpareWaiters<T>? IReceiveSource<T>.Spares => ref _spares;

    public bool TryReceive([MaybeNullWhen(false)] out T item) => TryReceive(null, out item);

    public bool IsReceivable()
    {
        lock (this)
        {
            return _hasValue;
        }
    }

    public void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        bool ended;
        bool current;
        lock (this)
        {
            ended = _ended;
            current = _hasValue;
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

    // A copy went: the message stays for ever.
    public void LeftToWaiter(T item)
    {
    }

    /// <summary>Gives a copy of the message to a waiter of the list, which has been emptied.</summary>
    private void GiveTo(ReceiveWaiter<T> waiter)
    {
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
            waiter.Give(Copy(_value!));
        }

        waiter.AfterLock();
    }
}
