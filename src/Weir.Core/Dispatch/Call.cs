using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>
/// What a run does with one item. A struct given as a type parameter, so that the run without features compiles to nothing but
/// the user's delegate.
/// </summary>
/// <typeparam name="TItem">The items.</typeparam>
/// <typeparam name="TPending">How the call represents that it has not completed yet.</typeparam>
internal interface ICall<in TItem, TPending>
{
    /// <summary>
    /// Whether the call writes its large pending struct directly to the worker's copy, usually only a part of it, because returning it would cost more than
    /// everything else.
    /// </summary>
    bool UsesInvokeInto { get; }

    /// <summary>Starts the call.</summary>
    /// <param name="item">The item.</param>
    /// <param name="index">Its index.</param>
    /// <param name="isFirst">Whether this is the item's first attempt.</param>
    /// <param name="cancellationToken">Cancelled when the run stops or the attempt's time limit passes.</param>
    TPending Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken);

    /// <summary>Does the same, and writes the result to <paramref name="pending"/>. Only when <see cref="UsesInvokeInto"/>.</summary>
    void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref TPending pending);

    /// <summary>
    /// An item was given up inside this call, which may never end: what the call holds must not wait for its end. Called once, on any thread, perhaps before
    /// the call holds anything or after it has ended.
    /// </summary>
    /// <param name="item">The item, if the run has a recovery.</param>
    /// <param name="index">Its index.</param>
    void GivenUp(TItem? item, long index);

    /// <summary>Adds what the call knows of the items inside it, and of what is around them.</summary>
    void AddTo(ref RunSample sample);
}

/// <summary>A started call: a ValueTask of one kind or another. Consume it only once.</summary>
internal interface IPending<out TResult>
{
    bool IsCompleted { get; }

    bool IsCompletedSuccessfully { get; }

    TResult GetResult();

    /// <summary>
    /// What the item has to wait for before its call can begin; null if the call has begun. A call that has not begun is complete, but not successfully.
    /// Where no call ever waits, this is a constant, also for the compiler.
    /// </summary>
    Task? Until { get; }

    /// <summary>What <see cref="Until"/> is, when there is one.</summary>
    WaitKind WaitsFor { get; }

    /// <summary>Whether nothing but its end is left to wait for, so that it may be parked.</summary>
    bool CanBeParked { get; }

    /// <summary>The call as it is parked. After <see cref="BecomeTask"/>.</summary>
    Task AsTask();

    /// <summary>The result of a call that was parked and has ended. It needs no started call.</summary>
    TResult ResultOf(Task call);

    /// <summary>
    /// Makes it one that calls back exactly once, before the first wait for it: a task source of the user need not, see <see cref="CallsBackOnce"/>. It may
    /// throw what the source throws.
    /// </summary>
    void BecomeTask();

    /// <summary>Calls back once, without the execution context and without a captured context. After <see cref="BecomeTask"/>.</summary>
    void OnCompleted(Action continuation);
}

/// <summary>Calls only the user's selector.</summary>
internal readonly struct SelectorCall<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> selector)
    : ICall<TItem, PendingResult<TResult>>
{
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _selector = selector;

    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public PendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) => new(_selector(item, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingResult<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}

/// <summary>Calls only the user's action.</summary>
internal readonly struct ActionCall<TItem>(Func<TItem, CancellationToken, ValueTask> action) : ICall<TItem, PendingNothing>
{
    private readonly Func<TItem, CancellationToken, ValueTask> _action = action;

    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public PendingNothing Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) => new(_action(item, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingNothing pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}

/// <summary>A started call that ends with a result.</summary>
internal struct PendingResult<TResult>(ValueTask<TResult> task) : IPending<TResult>
{
    private ValueTask<TResult> _task = task;

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly TResult GetResult() => _task.GetAwaiter().GetResult();

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => true;

    public readonly Task AsTask() => _task.AsTask();

    public readonly TResult ResultOf(Task call) => Unsafe.As<Task<TResult>>(call).GetAwaiter().GetResult();

    public void BecomeTask() => _task = new ValueTask<TResult>(_task.AsTask());
}

/// <summary>A started call that ends without a result.</summary>
internal struct PendingNothing(ValueTask task) : IPending<Nothing>
{
    private ValueTask _task = task;

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly Nothing GetResult()
    {
        _task.GetAwaiter().GetResult();
        return default;
    }

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => true;

    public readonly Task AsTask() => _task.AsTask();

    public readonly Nothing ResultOf(Task call)
    {
        call.GetAwaiter().GetResult();
        return default;
    }

    public void BecomeTask() => _task = new ValueTask(_task.AsTask());
}

/// <summary>
/// Calls of the user whose end can be waited for with something that is used again for other items. A task calls back exactly once. A task source of the user
/// may do so again at any time, or throw although it does: waited for directly, it would continue another item.
/// </summary>
/// <remarks>Costs nothing for a call that has completed or is a task. A task source gets a task.</remarks>
internal static class CallsBackOnce
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ValueTask<TResult> Of<TResult>(ValueTask<TResult> call) => call.IsCompleted ? call : new ValueTask<TResult>(call.AsTask());
}
