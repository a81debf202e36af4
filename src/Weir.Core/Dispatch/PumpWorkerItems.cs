using System.Runtime.CompilerServices;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <content>The items of a chunk, one after the other, in two loops; and what a worker does when it has to wait for the next one.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
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
                _pending = pending;
                _index = first + position;
                if (pump.Recovery is not null)
                {
                    Keep(items[position]);
                }

                return WaitForCall(position + 1);
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
    private StepResult RunGuardedPlainChunk()
    {
        ItemGuard guard = _guard!;
        try
        {
            return RunGuardedItems(guard);
        }
        catch (Exception e) when (guard.IsInsideCall)
        {
            // Only what the call throws. What comes before and behind it runs while the worker has no item, and is the engine's own.
            return guard.TryEndCall(ItemWord.In(guard.Word, ItemWord.InCall)) ? Fail(_index, ItemStatus.Failed, e) : StepResult.Left;
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
            _index = index;
            _chunk.Position = position;
            long inCall = guard.Begin();
            TPending pending = call.Invoke(item, index, isFirst, token);
            if (!pending.IsCompleted)
            {
                // Inside the call still, because it may run code of the user.
                pending.BecomeTask();
                return pump.Parks ? ParkGuardedCall(pending, inCall) : WaitForGuardedCall(pending, inCall);
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

    /// <summary>From here to the end of the item, another worker may read, so this is the moment to call one.</summary>
    private void TurnWasGivenUp()
    {
        if (run.WaitingReaders.Any)
        {
            run.CallWaitingForTurn();
        }

        if (_pace.IsSampling)
        {
            _pace.Sample(run);
        }
    }

    /// <summary>Waits for the step of the source that the worker started.</summary>
    private StepResult WaitForSource()
    {
        _wait = Wait.Claim;

        // The next item may be long in coming.
        run.Source.Release(ref _chunk);
        ForgetItem();
        StopsExecuting();
        try
        {
            run.Source.OnReady(Continuation);
            return StepResult.Waits;
        }
        catch (Exception e)
        {
            // No continuation will come, so this thread continues.
            _wait = Wait.None;
            StartsExecuting();
            run.SourceFailed(e);
            return StepResult.Ready;
        }
    }
}
