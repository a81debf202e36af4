using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <content>The items of a chunk, one after the other.</content>
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
}
