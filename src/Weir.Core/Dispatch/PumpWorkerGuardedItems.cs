using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <content>The items of a chunk that can be given up, where none has a limit or an attempt of its own.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    /// <summary>As <see cref="RunGuardedChunk"/>. The exception handler is outside of the loop, for the reason that <see cref="RunItems"/> gives.</summary>
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
}
