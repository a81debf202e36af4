using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <content>The items of a chunk, one after the other.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    // One for each combination of types, like the compiled code.
    private static readonly TieringMonitor Tiering = new(TimeProvider.System);

    /// <summary>Optimized from the first call, but without the profile that the runtime collects while code runs, above all which delegate it calls.</summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization | MethodImplOptions.NoInlining)]
    private StepResult RunOptimizedItems() => RunItems(int.MaxValue);

    /// <summary>Slow at first, and faster than any other once the runtime has recompiled it with its profile.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private StepResult RunTieredItems(int most) => RunItems(most);

    /// <summary>
    /// For a program that has just started: nearly all items run in the loop that is optimized at once, and a few in the one that has to run before it is
    /// optimized. Optimizing the former takes some milliseconds, which is not worth it for few items.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private StepResult RunBeforeTiering()
    {
        if (_chunk.Remaining < TieringMonitor.Many)
        {
            Tiering.RecordProfilingCall();
            return RunTieredItems(int.MaxValue);
        }

        return Tiering.IsProfilingCall() ? RunTieredItems(TieringMonitor.ProfilingItems) : RunOptimizedItems();
    }

    /// <summary>
    /// The innermost loop. It has no exception handler, because then the position would live in memory and its increment
    /// would cost more than everything else. Instead, the position is stored once per item and never loaded.
    /// </summary>
    /// <param name="most">The largest number of items.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private StepResult RunItems(int most)
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
        int end = most < items.Length - position ? position + most : items.Length;
        for (; position < end; position++)
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
