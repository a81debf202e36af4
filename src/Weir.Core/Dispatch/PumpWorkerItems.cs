using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <content>The items of a chunk, one after the other, in the three loops; and the wait for a call that suspends.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    /// <summary>Runs the claimed items one after the other, as long as they complete synchronously.</summary>
    private StepResult RunChunk()
    {
        int started = _chunk.Position;
        try
        {
            return RunItems();
        }
        catch (Exception e)
        {
            int position = _chunk.Position;
            _succeeded += position - started;
            if (run.Recovery is not null)
            {
                KeepAt(position);
            }

            _chunk.Position = position + 1;
            return Fail(_chunk.FirstIndex + position, ItemStatus.Failed, e);
        }
    }

    /// <summary>
    /// The innermost loop. It has no exception handler, because then the position would live in memory and its increment
    /// would cost more than everything else. Instead, the position is stored once per item and never loaded.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private StepResult RunItems()
    {
        Pump<TItem, TResult, TPending, TCall, TSink> pump = run;
        ReadOnlySpan<TItem> items = _chunk.Items;
        long first = _chunk.FirstIndex;
        TCall call = pump.Call;
        TSink sink = pump.Sink;
        CancellationToken token = pump.Token;
        bool isFirst = _chunk.Repetition is null;
        int position = _chunk.Position;
        int started = position;
        TPending place = default;
        Span<TResult> slots = sink.HasSlots ? sink.Slots(first, items.Length) : default;
        for (; position < items.Length; position++)
        {
            _chunk.Position = position;
            if (pump.IsOver)
            {
                pump.Source.GiveBack(_chunk.TakeRest(position));
                break;
            }

            // In a local, and stored only if it has not completed: a store to the heap costs a write barrier per item.
            TPending pending;
            if (call.UsesInvokeInto)
            {
                call.InvokeInto(items[position], first + position, isFirst, token, ref place);
                if (place.IsCompletedSuccessfully)
                {
                    if (sink.HasSlots)
                    {
                        slots[position] = place.GetResult();
                    }
                    else
                    {
                        sink.Succeeded(first + position, place.GetResult());
                    }

                    continue;
                }

                pending = place;
            }
            else
            {
                pending = call.Invoke(items[position], first + position, isFirst, token);
            }

            if (!pending.IsCompleted)
            {
                _succeeded += position - started;
                _chunk.Position = position + 1;
                if (pump.Recovery is not null)
                {
                    Keep(items[position]);
                }

                return Suspend(pending, first + position);
            }

            if (pending.Until is { } until)
            {
                _succeeded += position - started;
                Keep(items[position]);
                _chunk.Position = position + 1;
                return Postpone(first + position, until, pending.WaitsFor);
            }

            if (sink.HasSlots)
            {
                slots[position] = pending.GetResult();
            }
            else
            {
                sink.Succeeded(first + position, pending.GetResult());
            }
        }

        _succeeded += position - started;
        if (!_chunk.IsEmpty)
        {
            _chunk.Position = position;
        }

        return StepResult.Ready;
    }

    /// <summary>
    /// As <see cref="RunGuardedChunk"/>, where no item has a limit or an attempt of its own. The exception handler is outside of the loop, for the reason that
    /// <see cref="RunItems"/> gives.
    /// </summary>
    private StepResult RunGuardedPlainChunk(ItemGuard guard)
    {
        try
        {
            return RunGuardedItems(guard);
        }
        catch (Exception e) when (guard.IsInsideCall)
        {
            // Only what the call throws. What comes before and behind it runs while the worker has no item, and is the engine's own.
            return guard.TryEndCall(ItemWord.In(guard.Word, ItemWord.InCall)) ? Fail(Index, ItemStatus.Failed, e) : StepResult.Left;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private StepResult RunGuardedItems(ItemGuard guard)
    {
        Pump<TItem, TResult, TPending, TCall, TSink> pump = run;
        ReadOnlySpan<TItem> items = _chunk.Items;
        long first = _chunk.FirstIndex;
        TCall call = pump.Call;
        TSink sink = pump.Sink;
        CancellationToken token = pump.Token;
        bool isFirst = _chunk.Repetition is null;
        int position = _chunk.Position;
        int count = items.Length;
        while (position < count)
        {
            if (pump.IsOver)
            {
                pump.Source.GiveBack(_chunk.TakeRest(position));
                return StepResult.Ready;
            }

            TItem item = items[position];
            long index = first + position;
            position++;
            Index = index;
            _chunk.Position = position;
            long inCall = guard.Begin();
            TPending pending = call.Invoke(item, index, isFirst, token);
            if (!pending.IsCompleted)
            {
                // Inside the call still, because it may run code of the user.
                pending.BecomeTask();
                return pump.Parks ? Park(pending, inCall) : WaitForCall(pending, inCall);
            }

            TResult result = pending.GetResult();
            if (!guard.TryEndAtOnce(inCall))
            {
                if (!guard.TryMoveOn(inCall, ItemWord.Idle))
                {
                    // Its result needs no disposal: where it may, the worker keeps the item, and is not here.
                    return StepResult.Left;
                }

                // The items behind this one may be another worker's now.
                count = _chunk.Count;
            }

            sink.Succeeded(index, result);
            _succeeded++;
        }

        return StepResult.Ready;
    }

    private StepResult RunMeasuredChunk(ItemGuard guard, ItemMeter meter)
    {
        meter.Begin(_succeeded + _unsuccessful);
        StepResult done = RunGuardedChunk(guard);
        if (done == StepResult.Ready)
        {
            // Otherwise the worker may be running on another thread.
            meter.End(_succeeded + _unsuccessful);
        }

        return done;
    }

    private StepResult RunGuardedChunk(ItemGuard guard)
    {
        bool timed = run.IsTimed;
        guard.Host = run.Settings.Executor.CurrentHost;
        if (!timed && !run.KeepsItems && default(TPending).CanBeParked)
        {
            return RunGuardedPlainChunk(guard);
        }

        ReadOnlySpan<TItem> items = _chunk.Items;
        TCall call = run.Call;
        for (int position = _chunk.Position; position < _chunk.Count; position++)
        {
            if (run.IsOver)
            {
                run.Source.GiveBack(_chunk.TakeRest(position));
                return StepResult.Ready;
            }

            long index = _chunk.FirstIndex + position;
            Index = index;
            _chunk.Position = position + 1;
            if (run.KeepsItems)
            {
                Keep(items[position]);
            }

            if (timed && !guard.Clock.TryStart(run, this, _repetition))
            {
                return Fail(index, ItemStatus.TimedOut, run.ItemTimedOut(index));
            }

            CancellationToken token = timed ? guard.Clock.Stop!.Token : run.Token;
            long inCall = guard.Begin();
            TPending pending;
            TResult result = default!;
            Task? until = null;
            WaitKind kind = default;
            bool waits;
            try
            {
                pending = call.Invoke(items[position], index, _chunk.Repetition is null, token);
                waits = !pending.IsCompleted;
                if (waits)
                {
                    // Inside the call still, because it may run code of the user.
                    pending.BecomeTask();
                }
                else
                {
                    until = pending.Until;
                    kind = until is null ? default : pending.WaitsFor;
                    result = until is null ? pending.GetResult() : default!;
                }
            }
            catch (Exception e)
            {
                if (!guard.TryEndCall(inCall))
                {
                    run.Recovery?.Discard(e, index);
                    return StepResult.Left;
                }

                guard.SetDeadlineIfNotSet(inCall, run, _repetition);
                return Fail(index, ItemStatus.Failed, e);
            }

            if (waits)
            {
                return run.Parks ? Park(pending, inCall) : WaitForCall(pending, inCall);
            }

            if (!guard.TryEndCall(inCall))
            {
                if (until is not null)
                {
                    run.Recovery?.LeaveQueues(index);
                }
                else
                {
                    DiscardedResult.Drop(_item, result);
                }

                return StepResult.Left;
            }

            if (until is not null)
            {
                guard.SetDeadlineIfNotSet(inCall, run, _repetition);
                return Postpone(index, until, kind);
            }

            run.Sink.Succeeded(index, result);
            _succeeded++;
        }

        return StepResult.Ready;
    }

    /// <summary>A call of a run without guards has suspended.</summary>
    private StepResult Suspend(TPending pending, long index)
    {
        Index = index;
        try
        {
            pending.BecomeTask();
        }
        catch (Exception e)
        {
            return Fail(index, ItemStatus.Failed, e);
        }

        return run.Parks ? Park(pending, 0) : WaitForCall(pending, 0);
    }

    /// <summary>The worker waits for the call.</summary>
    /// <param name="pending">The call, which waits for a task.</param>
    /// <param name="inCall">The word of its item, in a guarded run.</param>
    private StepResult WaitForCall(TPending pending, long inCall)
    {
        ItemGuard? guard = Guard;
        Action? continuation = null;
        if (guard is not null)
        {
            if (!guard.TryMoveOn(inCall, ItemWord.Moving))
            {
                Observe(pending);
                return StepResult.Left;
            }

            guard.Meter?.Suspend(_succeeded + _unsuccessful);
            guard.SetDeadlineIfNotSet(inCall, run, _repetition);
            continuation = Continuation;
        }

        // Other workers run what comes after an item that takes long.
        GiveBackClaimed();
        _pending = pending;
        _pace.Reset();
        Waiting = Wait.Call;
        StopsExecuting();
        guard?.EndMoving(inCall, ItemWord.Waiting);
        try
        {
            // From here on, the worker may be running on another thread.
            pending.OnCompleted(continuation ?? Continuation);
            return StepResult.Waits;
        }
        catch (Exception e)
        {
            // No continuation will come, so this thread continues.
            if (guard?.TryEndWait() == false)
            {
                return StepResult.Left;
            }

            guard?.Meter?.Resume(failed: true);
            Waiting = Wait.None;
            _pending = default;
            StartsExecuting();
            return Fail(Index, ItemStatus.Failed, e);
        }
    }
}

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
