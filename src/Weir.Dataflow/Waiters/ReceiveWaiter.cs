using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;
using Weir.Core;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Waiters;

/// <summary>
/// A receiver that waits for one message of a source, or until there is one. It stands among the source's links and is served at its position.
/// </summary>
/// <remarks>
/// <para>
/// <b>One end.</b> A message, the source's end, the token and the timer race for a waiter. The thread that takes it out of the list of links, under the
/// source's lock, completes it, once no lock is held. Whoever finds that it is not in the list any more does nothing.
/// </para>
/// <para>
/// <b>Before it is in the list.</b> The token is registered first, so whatever completes the waiter finds the registration. If the token is cancelled in
/// between, <c>IsGivenUp</c> says so under the source's lock, and the waiter is completed instead of listed.
/// </para>
/// <para>
/// <b>Pooled waiters.</b> A wait with a value task uses a waiter of its source's pool. It goes back when its result is read and its registration is gone, so
/// that a late cancellation cannot hit its next wait.
/// </para>
/// <para><see cref="SendWaiter{T}"/> follows these rules in a target's list of those who wait for room, under the target's input lock.</para>
/// </remarks>
internal abstract class ReceiveWaiter<T>(ReceiveSource<T> source, bool takesMessage) : LinkNode<T>, IUnattended, IAfterLock
{
    protected ReceiveSource<T> Source { get; } = source;

    /// <summary>Whether it takes the message, or only wants to know of it.</summary>
    public bool TakesMessage { get; } = takesMessage;

    /// <summary>The wait was given up, perhaps before the waiter was in the list. Under the source's lock.</summary>
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
    /// To give it up has failed, so this tries once more. If the waiter only failed, it would stay among the links, and a message that it gets would be lost.
    /// </summary>
    void IUnattended.WorkFailed(Exception error) =>
        Source.GiveUp(this, timedOut: !Registration.Token.IsCancellationRequested, Registration.Token);

    /// <summary>There is a message, but it cannot be taken.</summary>
    public abstract void Fail(Exception exception);

    /// <summary>The token was cancelled, or the time is up.</summary>
    public abstract void GiveUp(bool timedOut, CancellationToken token);

    protected abstract void Succeed();
}

/// <summary>A pending OutputAvailableAsync, or WaitToReceiveAsync if it is pooled.</summary>
internal sealed class AvailableWaiter<T> : ReceiveWaiter<T, bool>
{
    public AvailableWaiter(ReceiveSource<T> source, bool isPooled = false)
        : base(source, takesMessage: false, isPooled)
    {
    }

    public override void SourceEnded() => Set(false);

    public override void ReturnToPool() => WaiterPool<T>.Of(ref Source.Pool).Return(this);

    protected override void Succeed() => Set(true);
}

/// <summary>A pending ReceiveAsync, or ReceiveValueAsync if it is pooled.</summary>
internal sealed class MessageWaiter<T> : ReceiveWaiter<T, T>
{
    public MessageWaiter(ReceiveSource<T> source, bool isPooled = false)
        : base(source, takesMessage: true, isPooled)
    {
    }

    public override void SourceEnded() => Fail(new InvalidOperationException(Protocol.NoData));

    public override void ReturnToPool()
    {
        Item = default;
        WaiterPool<T>.Of(ref Source.Pool).Return(this);
    }

    protected override void Succeed() => Set(Item!);
}

/// <summary>A receiver, and the result that it gets.</summary>
internal abstract class ReceiveWaiter<T, TResult> : ReceiveWaiter<T>, IPooledWaiter
{
    private readonly IWaitResult<TResult> _result;

    protected ReceiveWaiter(ReceiveSource<T> source, bool takesMessage, bool isPooled)
        : base(source, takesMessage) => _result = isPooled ? new ValueResult<TResult>(this) : new TaskResult<TResult>();

    /// <summary>The result of a waiter that is not pooled.</summary>
    public Task<TResult> Task => ((TaskResult<TResult>)_result).Task;

    public ITimer? Timer { get; set; }

    /// <summary>Begins a wait of a pooled waiter.</summary>
    public ValueTask<TResult> Begin()
    {
        IsGivenUp = false;
        return ((ValueResult<TResult>)_result).Begin();
    }

    public void Expire() => Source.GiveUp(this, timedOut: true, default);

    public override void Fail(Exception exception)
    {
        Free();
        _result.Fail(exception);
    }

    public override void GiveUp(bool timedOut, CancellationToken token)
    {
        Free();
        if (timedOut)
        {
            _result.Fail(new TimeoutException());
        }
        else
        {
            _result.Cancel(token);
        }
    }

    public abstract void ReturnToPool();

    protected void Set(TResult result)
    {
        Free();
        _result.Set(result);
    }

    // A pooled waiter gives its registration up when the result is read, because it has to wait for a callback that is under way.
    private void Free()
    {
        if (_result is TaskResult<TResult>)
        {
            Registration.Unregister();
            Timer?.Dispose();
        }
    }
}

/// <summary>A waiter that goes back to a pool of its block, so that waiting allocates nothing.</summary>
internal interface IPooledWaiter
{
    CancellationTokenRegistration Registration { get; set; }

    /// <summary>The result was read, and nothing can complete the waiter any more: it goes back.</summary>
    void ReturnToPool();
}

/// <summary>The result of a wait.</summary>
internal interface IWaitResult<in TResult>
{
    void Set(TResult result);

    void Fail(Exception exception);

    void Cancel(CancellationToken token);
}

/// <summary>A result as a task.</summary>
internal sealed class TaskResult<TResult>()
    : TaskCompletionSource<TResult>(TaskCreationOptions.RunContinuationsAsynchronously), IWaitResult<TResult>
{
    public void Set(TResult result) => TrySetResult(result);

    public void Fail(Exception exception) => TrySetException(exception);

    public void Cancel(CancellationToken token) => TrySetCanceled(token);
}

/// <summary>A result as a value task. Each wait with the same pooled waiter uses it again.</summary>
internal sealed class ValueResult<TResult>(IPooledWaiter waiter) : IWaitResult<TResult>, IValueTaskSource<TResult>
{
    private ManualResetValueTaskSourceCore<TResult> _core = new() { RunContinuationsAsynchronously = true };

    /// <summary>Begins a wait.</summary>
    public ValueTask<TResult> Begin()
    {
        _core.Reset();
        return new(this, _core.Version);
    }

    public void Set(TResult result) => _core.SetResult(result);

    public void Fail(Exception exception) => _core.SetException(exception);

    public void Cancel(CancellationToken token) => _core.SetException(new OperationCanceledException(token));

    TResult IValueTaskSource<TResult>.GetResult(short token)
    {
        if (_core.GetStatus(token) == ValueTaskSourceStatus.Pending)
        {
            return _core.GetResult(token);
        }

        // Waits for a cancellation that is under way, so that it cannot hit the waiter's next wait.
        waiter.Registration.Dispose();
        waiter.Registration = default;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            waiter.ReturnToPool();
        }
    }

    ValueTaskSourceStatus IValueTaskSource<TResult>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<TResult>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);
}

/// <summary>The waiters of a source that are not in use: one of each kind.</summary>
/// <remarks>
/// A waiter is rented by an exchange, because two waits with the same waiter would get the same message. It is returned by a plain write: if two are returned
/// at once, one is lost to the garbage collector.
/// </remarks>
internal sealed class WaiterPool<T>
{
    private MessageWaiter<T>? _forMessage;
    private AvailableWaiter<T>? _forAvailability;

    public static WaiterPool<T> Of(ref WaiterPool<T>? pool) =>
        Volatile.Read(ref pool) ?? Interlocked.CompareExchange(ref pool, new WaiterPool<T>(), null) ?? pool;

    public MessageWaiter<T>? RentForMessage() => Interlocked.Exchange(ref _forMessage, null);

    public AvailableWaiter<T>? RentForAvailability() => Interlocked.Exchange(ref _forAvailability, null);

    public void Return(MessageWaiter<T> waiter) => Volatile.Write(ref _forMessage, waiter);

    public void Return(AvailableWaiter<T> waiter) => Volatile.Write(ref _forAvailability, waiter);
}

/// <summary>Tasks that have ended, for answers that need no wait.</summary>
internal static class Completed
{
    public static readonly Task<bool> True = Task.FromResult(true);
    public static readonly Task<bool> False = Task.FromResult(false);
}

/// <summary>The ways to receive and to wait for a message, over any source.</summary>
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

        MessageWaiter<T> waiter = WaiterPool<T>.Of(ref source.Pool).RentForMessage() ?? new MessageWaiter<T>(source, isPooled: true);
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

        AvailableWaiter<T> waiter = WaiterPool<T>.Of(ref source.Pool).RentForAvailability() ?? new AvailableWaiter<T>(source, isPooled: true);
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

    // Before the waiter is in the list, so that whatever completes it finds the registration.
    private static void Register<T>(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        if (cancellationToken.CanBeCanceled)
        {
            waiter.Registration = cancellationToken.UnsafeRegister(
                static (state, token) => Unattended.Run((ReceiveWaiter<T>)state!, static (waiter, token) => waiter.Abandon(token), token), waiter);
        }
    }
}

/// <summary>A block's output side, as those see it that receive or wait for a message.</summary>
internal abstract class ReceiveSource<T> : IViewable
{
    /// <summary>The waiters that are not in use. Created by the first wait with a value task.</summary>
    public WaiterPool<T>? Pool;

    public abstract Task Completion { get; }

    /// <summary>Whether the block is complete; makes no task.</summary>
    public abstract bool IsCompleted { get; }

    public abstract bool TryReceive([MaybeNullWhen(false)] out T item);

    public abstract bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item);

    public abstract bool TryReceiveAll([NotNullWhen(true)] out IList<T>? items);

    public abstract bool IsReceivable();

    /// <summary>Completes the waiter at once, or puts it into the list of links.</summary>
    public abstract void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken);

    /// <summary>Ends a wait from outside. Does nothing if the wait has ended already.</summary>
    public abstract void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token);

    /// <summary>A waiter has got a message. Called under no lock. Does nothing where the message was a copy.</summary>
    public virtual void OnTakenByWaiter(T item)
    {
    }

    /// <summary>The block is complete: receivers that wait get nothing, and targets whose link says so complete too.</summary>
    /// <param name="first">The first of those that were in the list, chained by Next.</param>
    public void TellOfEnd(LinkNode<T>? first)
    {
        while (first is not null)
        {
            LinkNode<T>? next = first.Next;
            first.Next = null;
            if (first is ReceiveWaiter<T> waiter)
            {
                waiter.SourceEnded();
            }
            else if (first is TargetLink<T> { PropagatesCompletion: true } link)
            {
                Protocol.Propagate(Completion, link.Target);
            }

            first = next;
        }
    }

    /// <inheritdoc/>
    public abstract void Show(BlockView view);
}

/// <summary>A block's input side, as those see it that wait for room.</summary>
internal interface ISendTarget<T>
{
    /// <summary>Ends a wait from outside. Does nothing if the wait has ended already.</summary>
    void GiveUp(SendWaiter<T> waiter, CancellationToken token);

    /// <summary>Takes a pooled waiter back.</summary>
    void Return(SendWaiter<T> waiter);
}

/// <summary>A sender that waits until a target has room for its message. The rules are those at the top of <see cref="ReceiveWaiter{T}"/>.</summary>
internal sealed class SendWaiter<T> : PostponedNode<T>, IUnattended, IAfterLock, IPooledWaiter
{
    private readonly ISendTarget<T> _target;
    private readonly IWaitResult<bool> _result;

    public SendWaiter(ISendTarget<T> target, bool isPooled)
    {
        _target = target;
        _result = isPooled ? new ValueResult<bool>(this) : new TaskResult<bool>();
    }

    public T? Value { get; set; }

    public bool IsGivenUp { get; set; }

    public CancellationTokenRegistration Registration { get; set; }

    /// <summary>The result of a waiter that is not pooled.</summary>
    public Task<bool> Task => ((TaskResult<bool>)_result).Task;

    /// <summary>Begins a wait of a pooled waiter.</summary>
    public ValueTask<bool> Begin()
    {
        IsGivenUp = false;
        return ((ValueResult<bool>)_result).Begin();
    }

    public void Abandon(CancellationToken token) => _target.GiveUp(this, token);

    /// <summary>To give it up has failed, so this tries once more: its caller waits.</summary>
    void IUnattended.WorkFailed(Exception error) => Abandon(Registration.Token);

    /// <summary>The message was taken.</summary>
    public void AfterLock() => Finish(accepted: true);

    public void Finish(bool accepted)
    {
        Free();
        _result.Set(accepted);
    }

    public void GiveUp(CancellationToken token)
    {
        Free();
        _result.Cancel(token);
    }

    public void ReturnToPool()
    {
        Value = default;
        _target.Return(this);
    }

    // A pooled waiter gives its registration up when the result is read, because it has to wait for a callback that is under way.
    private void Free()
    {
        if (_result is TaskResult<bool>)
        {
            Registration.Unregister();
        }
    }
}
