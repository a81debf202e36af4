using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;
using Weir.Core;
using Weir.Dataflow.Debugging;
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

/// <summary>A pending OutputAvailableAsync, or WaitToReceiveAsync if it is reused.</summary>
internal sealed class AvailableWaiter<T> : ReceiveWaiter<T, bool>
{
    public AvailableWaiter(ReceiveSource<T> source, bool isReused = false)
        : base(source, takesMessage: false, isReused)
    {
    }

    public override void SourceEnded() => Set(false);

    public override void Keep() => SpareWaiters<T>.Of(ref Source.Spares).Keep(this);

    protected override void Succeed() => Set(true);
}

/// <summary>A pending ReceiveAsync, or ReceiveValueAsync if it is reused.</summary>
internal sealed class MessageWaiter<T> : ReceiveWaiter<T, T>
{
    public MessageWaiter(ReceiveSource<T> source, bool isReused = false)
        : base(source, takesMessage: true, isReused)
    {
    }

    public override void SourceEnded() => Fail(new InvalidOperationException(Protocol.NoData));

    public override void Keep()
    {
        Item = default;
        SpareWaiters<T>.Of(ref Source.Spares).Keep(this);
    }

    protected override void Succeed() => Set(Item!);
}

/// <summary>A receiver, and what it gets in the end.</summary>
internal abstract class ReceiveWaiter<T, TResult> : ReceiveWaiter<T>, IReusableWaiter
{
    private readonly IWaitResult<TResult> _result;

    protected ReceiveWaiter(ReceiveSource<T> source, bool takesMessage, bool isReused)
        : base(source, takesMessage) => _result = isReused ? new ValueResult<TResult>(this) : new TaskResult<TResult>();

    /// <summary>The result of one that is not reused.</summary>
    public Task<TResult> Task => ((TaskResult<TResult>)_result).Task;

    public ITimer? Timer { get; set; }

    /// <summary>Begins a wait of one that is reused.</summary>
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

    public abstract void Keep();

    protected void Set(TResult result)
    {
        Free();
        _result.Set(result);
    }

    // One that is reused gives its registration back when the result is read, and waits for it.
    private void Free()
    {
        if (_result is TaskResult<TResult>)
        {
            Registration.Unregister();
            Timer?.Dispose();
        }
    }
}

/// <summary>A waiter that its block keeps for the next time, so that waiting allocates nothing.</summary>
internal interface IReusableWaiter
{
    CancellationTokenRegistration Registration { get; set; }

    /// <summary>The result was read, and nothing can complete the waiter any more.</summary>
    void Keep();
}

/// <summary>What somebody who waits gets in the end.</summary>
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

/// <summary>A result as a value task, used again by the next wait with the same waiter.</summary>
internal sealed class ValueResult<TResult>(IReusableWaiter waiter) : IWaitResult<TResult>, IValueTaskSource<TResult>
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

        // Waits for a cancellation that is under way, so that it cannot hit the waiter's next life.
        waiter.Registration.Dispose();
        waiter.Registration = default;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            waiter.Keep();
        }
    }

    ValueTaskSourceStatus IValueTaskSource<TResult>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<TResult>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);
}

/// <summary>The waiters that a source keeps, so that the next wait allocates nothing.</summary>
/// <remarks>
/// A waiter is taken by an exchange, because two waits with the same waiter would get the same message. It is put back with a plain write when its result has
/// been read and nothing can complete it any more. If two are put back at once, one is lost to the garbage collector.
/// </remarks>
internal sealed class SpareWaiters<T>
{
    private MessageWaiter<T>? _forMessage;
    private AvailableWaiter<T>? _forAvailability;

    public static SpareWaiters<T> Of(ref SpareWaiters<T>? spares) =>
        Volatile.Read(ref spares) ?? Interlocked.CompareExchange(ref spares, new SpareWaiters<T>(), null) ?? spares;

    public MessageWaiter<T>? TakeForMessage() => Interlocked.Exchange(ref _forMessage, null);

    public AvailableWaiter<T>? TakeForAvailability() => Interlocked.Exchange(ref _forAvailability, null);

    public void Keep(MessageWaiter<T> waiter) => Volatile.Write(ref _forMessage, waiter);

    public void Keep(AvailableWaiter<T> waiter) => Volatile.Write(ref _forAvailability, waiter);
}

internal static class Completed
{
    public static readonly Task<bool> True = Task.FromResult(true);
    public static readonly Task<bool> False = Task.FromResult(false);
}

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

/// <summary>A block's input side, as those see it that wait for room.</summary>
internal interface ISendTarget<T>
{
    /// <summary>Ends a wait from outside. Does nothing if the wait has ended already.</summary>
    void GiveUp(SendWaiter<T> waiter, CancellationToken token);

    /// <summary>Takes back a waiter that is done, for the next time.</summary>
    void Keep(SendWaiter<T> waiter);
}

/// <summary>
/// A sender that waits until a target has room for its message. The thread that takes it out of the target's list, under the target's lock, completes it.
/// </summary>
internal sealed class SendWaiter<T> : PostponedNode<T>, IUnattended, IAfterLock, IReusableWaiter
{
    private readonly ISendTarget<T> _target;
    private readonly IWaitResult<bool> _result;

    public SendWaiter(ISendTarget<T> target, bool isReused)
    {
        _target = target;
        _result = isReused ? new ValueResult<bool>(this) : new TaskResult<bool>();
    }

    public T? Value { get; set; }

    public bool IsGivenUp { get; set; }

    public CancellationTokenRegistration Registration { get; set; }

    /// <summary>The result of one that is not reused.</summary>
    public Task<bool> Task => ((TaskResult<bool>)_result).Task;

    /// <summary>Begins a wait of one that is reused.</summary>
    public ValueTask<bool> Begin()
    {
        IsGivenUp = false;
        return ((ValueResult<bool>)_result).Begin();
    }

    public void Abandon(CancellationToken token) => _target.GiveUp(this, token);

    /// <summary>It could not be given up: tries once more, because its caller waits.</summary>
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

    public void Keep()
    {
        Value = default;
        _target.Keep(this);
    }

    // One that is reused gives its registration back when the result is read, and waits for it.
    private void Free()
    {
        if (_result is TaskResult<bool>)
        {
            Registration.Unregister();
        }
    }
}
