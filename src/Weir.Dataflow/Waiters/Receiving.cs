using System.Runtime.CompilerServices;
using Weir.Core;

namespace Weir.Dataflow.Waiters;

/// <summary>The ways to wait for a message, over any source.</summary>
internal static class Receiving
{
    public static T Receive<T>(ReceiveSource<T> source, TimeSpan timeout, CancellationToken cancellationToken)
    {
        CheckTimeout(timeout);
        cancellationToken.ThrowIfCancellationRequested();
        return source.TryReceive(out T? item) ? item : ReceiveAsync(source, timeout, cancellationToken).GetAwaiter().GetResult();
    }

    public static Task<T> ReceiveAsync<T>(ReceiveSource<T> source, TimeSpan timeout, CancellationToken cancellationToken)
    {
        CheckTimeout(timeout);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<T>(cancellationToken);
        }

        try
        {
            if (source.TryReceive(out T? item))
            {
                return Task.FromResult(item);
            }
        }
        catch (Exception e)
        {
            return Task.FromException<T>(e);
        }

        if (timeout == TimeSpan.Zero)
        {
            return Task.FromException<T>(new TimeoutException());
        }

        MessageWaiter<T> waiter = new(source);
        Register(waiter, cancellationToken);
        if (timeout != Timeout.InfiniteTimeSpan)
        {
            waiter.Timer = TimeProvider.System.CreateTimer(
                static state => Unattended.Run((MessageWaiter<T>)state!, static waiter => waiter.Expire()), waiter, timeout, Timeout.InfiniteTimeSpan);
        }

        source.Enlist(waiter, cancellationToken);
        return waiter.Task;
    }

    public static ValueTask<T> ReceiveValueAsync<T>(ReceiveSource<T> source, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<T>(cancellationToken);
        }

        try
        {
            if (source.TryReceive(out T? item))
            {
                return new ValueTask<T>(item);
            }
        }
        catch (Exception e)
        {
            return ValueTask.FromException<T>(e);
        }

        MessageWaiter<T> waiter = SpareWaiters<T>.Of(ref source.Spares).TakeForMessage() ?? new MessageWaiter<T>(source, isReused: true);
        ValueTask<T> task = waiter.Begin();
        Register(waiter, cancellationToken);
        source.Enlist(waiter, cancellationToken);
        return task;
    }

    public static Task<bool> OutputAvailableAsync<T>(ReceiveSource<T> source, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<bool>(cancellationToken);
        }

        if (source.IsReceivable())
        {
            return Completed.True;
        }

        if (source.IsCompleted)
        {
            return Completed.False;
        }

        AvailableWaiter<T> waiter = new(source);
        Register(waiter, cancellationToken);
        source.Enlist(waiter, cancellationToken);
        return waiter.Task;
    }

    public static ValueTask<bool> WaitToReceiveAsync<T>(ReceiveSource<T> source, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<bool>(cancellationToken);
        }

        if (source.IsReceivable())
        {
            return new ValueTask<bool>(true);
        }

        if (source.IsCompleted)
        {
            return new ValueTask<bool>(false);
        }

        AvailableWaiter<T> waiter = SpareWaiters<T>.Of(ref source.Spares).TakeForAvailability() ?? new AvailableWaiter<T>(source, isReused: true);
        ValueTask<bool> task = waiter.Begin();
        Register(waiter, cancellationToken);
        source.Enlist(waiter, cancellationToken);
        return task;
    }

    public static async IAsyncEnumerable<T> ReceiveAllAsync<T>(ReceiveSource<T> source, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        while (await WaitToReceiveAsync(source, cancellationToken).ConfigureAwait(false))
        {
            while (source.TryReceive(out T? item))
            {
                yield return item;
            }
        }
    }

    private static void CheckTimeout(TimeSpan timeout)
    {
        double milliseconds = timeout.TotalMilliseconds;
        if (milliseconds is < -1 or > int.MaxValue || (milliseconds < 0 && timeout != Timeout.InfiniteTimeSpan))
        {
            throw new ArgumentOutOfRangeException(nameof(timeout), "Number must be either non-negative and less than or equal to Int32.MaxValue or -1");
        }
    }

    // Before the waiter is in the list: then nothing that completes it can miss the registration.
    private static void Register<T>(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        if (cancellationToken.CanBeCanceled)
        {
            waiter.Registration = cancellationToken.UnsafeRegister(
                static (state, token) => Unattended.Run((ReceiveWaiter<T>)state!, static (waiter, token) => waiter.Abandon(token), token), waiter);
        }
    }
}
