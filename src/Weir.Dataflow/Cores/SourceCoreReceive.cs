using System.Runtime.CompilerServices;
using Weir.Dataflow.Sync;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <content>Waiting for a message.</content>
internal sealed partial class SourceCore<T>
{
    private ValueWaiter<T>? _spareWaiter;
    private AvailableValueWaiter<T>? _spareAvailableWaiter;

    public T Receive(TimeSpan timeout, CancellationToken cancellationToken)
    {
        CheckTimeout(timeout);
        cancellationToken.ThrowIfCancellationRequested();
        return TryReceive(out T? item) ? item : ReceiveAsync(timeout, cancellationToken).GetAwaiter().GetResult();
    }

    public Task<T> ReceiveAsync(TimeSpan timeout, CancellationToken cancellationToken)
    {
        CheckTimeout(timeout);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<T>(cancellationToken);
        }

        if (TryReceive(out T? item))
        {
            return Task.FromResult(item);
        }

        if (timeout == TimeSpan.Zero)
        {
            return Task.FromException<T>(new TimeoutException());
        }

        TaskWaiter<T> waiter = new(this);
        Register(waiter, cancellationToken);
        if (timeout != Timeout.InfiniteTimeSpan)
        {
            waiter.Timer = TimeProvider.System.CreateTimer(
                static state => ((TaskWaiter<T>)state!).Expire(), waiter, timeout, Timeout.InfiniteTimeSpan);
        }

        Enlist(waiter, cancellationToken);
        return waiter.Task;
    }

    public ValueTask<T> ReceiveValueAsync(CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<T>(cancellationToken);
        }

        if (TryReceive(out T? item))
        {
            return new ValueTask<T>(item);
        }

        ValueWaiter<T> waiter = Interlocked.Exchange(ref _spareWaiter, null) ?? new ValueWaiter<T>(this);
        waiter.Prepare();
        ValueTask<T> task = waiter.Task;
        Register(waiter, cancellationToken);
        Enlist(waiter, cancellationToken);
        return task;
    }

    public Task<bool> OutputAvailableAsync(CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<bool>(cancellationToken);
        }

        if (IsReceivable())
        {
            return Task.FromResult(true);
        }

        if (_completion.IsCompleted)
        {
            return Task.FromResult(false);
        }

        AvailableWaiter<T> waiter = new(this);
        Register(waiter, cancellationToken);
        Enlist(waiter, cancellationToken);
        return waiter.Task;
    }

    public ValueTask<bool> WaitToReceiveAsync(CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<bool>(cancellationToken);
        }

        if (IsReceivable())
        {
            return new ValueTask<bool>(true);
        }

        if (_completion.IsCompleted)
        {
            return new ValueTask<bool>(false);
        }

        AvailableValueWaiter<T> waiter = Interlocked.Exchange(ref _spareAvailableWaiter, null) ?? new AvailableValueWaiter<T>(this);
        waiter.Prepare();
        ValueTask<bool> task = waiter.Task;
        Register(waiter, cancellationToken);
        Enlist(waiter, cancellationToken);
        return task;
    }

    public async IAsyncEnumerable<T> ReceiveAllAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        while (await WaitToReceiveAsync(cancellationToken).ConfigureAwait(false))
        {
            while (TryReceive(out T? item))
            {
                yield return item;
            }
        }
    }

    /// <summary>Ends a waiting from outside. Who comes too late does nothing.</summary>
    public void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token)
    {
        GateOwner? key = _gate.Enter();
        bool removed = RemoveNeedsLock(waiter);
        waiter.IsGivenUp = true;
        _gate.Exit(key);
        if (removed)
        {
            waiter.GiveUp(timedOut, token);
        }
    }

    public void LeftToWaiter(T item) => Left(item);

    public void Keep(ValueWaiter<T> waiter) => Volatile.Write(ref _spareWaiter, waiter);

    public void Keep(AvailableValueWaiter<T> waiter) => Volatile.Write(ref _spareAvailableWaiter, waiter);

    private static void CheckTimeout(TimeSpan timeout)
    {
        double milliseconds = timeout.TotalMilliseconds;
        if (milliseconds is < -1 or > int.MaxValue || (milliseconds < 0 && timeout != Timeout.InfiniteTimeSpan))
        {
            throw new ArgumentOutOfRangeException(nameof(timeout), "Number must be either non-negative and less than or equal to Int32.MaxValue or -1");
        }
    }

    // Before the waiter is in the list: then nothing that completes it can miss the registration.
    private static void Register(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        if (cancellationToken.CanBeCanceled)
        {
            waiter.Registration = cancellationToken.UnsafeRegister(
                static (state, token) => ((ReceiveWaiter<T>)state!).Abandon(token), waiter);
        }
    }

    private bool IsReceivable()
    {
        GateOwner? key = _gate.Enter();
        bool receivable = _queue.Count > 0 && _reservedFor is null && !_offering;
        _gate.Exit(key);
        return receivable;
    }

    private void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        GateOwner? key = _gate.Enter();
        AssertInvariants();
        if (waiter.IsGivenUp)
        {
            _gate.Exit(key);
            waiter.GiveUp(timedOut: !cancellationToken.IsCancellationRequested, cancellationToken);
            return;
        }

        if (_queue.Count > 0 && _reservedFor is null && !_offering)
        {
            bool finish = false;
            if (waiter.TakesMessage)
            {
                waiter.Give(TakeHeadNeedsLock());
                finish = TryFinishNeedsLock();
            }

            _gate.Exit(key);
            FinishIf(finish);
            waiter.AfterLock();
            return;
        }

        if (_finishing)
        {
            _gate.Exit(key);
            waiter.SourceEnded();
            return;
        }

        AddNeedsLock(waiter, append: true);
        _gate.Exit(key);
    }
}
