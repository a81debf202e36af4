using System.Diagnostics;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <content>Sources that workers take turns to read.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    // The time it takes to leave and be called again, on a slow machine.
    private static readonly long LongestSpin = Stopwatch.Frequency / 20_000;

    /// <summary>From here to the end of the item, another worker may read, so this is the moment to call one.</summary>
    private void TurnWasGivenUp()
    {
        if (run.HasWaitingForTurn)
        {
            run.CallWaitingForTurn();
        }

        if (_pace.IsSampling)
        {
            _pace.Sample(run);
        }
    }

    /// <summary>The reader is usually quick, and a short spin is cheaper than leaving and being called again.</summary>
    /// <returns>Whether to try again.</returns>
    private bool WaitsForTurn()
    {
        if (!run.Source.IsReading || !run.TryBeginSpinning())
        {
            // The thread is more useful to the item, or to the sequence, whose end all workers wait for.
            return false;
        }

        try
        {
            long began = Stopwatch.GetTimestamp();
            while (run.Source.IsBusy)
            {
                if (!run.Source.IsReading || run.IsOver || Stopwatch.GetTimestamp() - began > LongestSpin)
                {
                    return false;
                }

                Thread.SpinWait(8);
            }

            return true;
        }
        finally
        {
            run.EndSpinning();
        }
    }

    /// <summary>Reads and runs items, which have been tiny so far, one after the other without giving up the turn between them.</summary>
    private StepResult RunKeeping(OneByOneSource<TItem> source, int keptAs)
    {
        _claims++;
        _helper = false;
        long first = source.NextIndex;
        ClaimResult result;
        try
        {
            if (RunItemsKeeping(source, keptAs, first, out result))
            {
                return WaitForCall();
            }
        }
        catch (Exception e)
        {
            source.GiveUpKept(keptAs);
            _succeeded += _index - first;
            return Fail(_index, ItemStatus.Failed, e);
        }

        if (source.Failure is { } failure)
        {
            run.SourceFailed(failure);
        }

        return result == ClaimResult.Pending ? WaitForSource() : StepResult.Ready;
    }

    /// <summary>The loop for tiny items. It has no exception handler of its own.</summary>
    /// <returns>Whether the last call has not completed and must be waited for.</returns>
    private bool RunItemsKeeping(OneByOneSource<TItem> source, int keptAs, long first, out ClaimResult result)
    {
        Pump<TItem, TResult, TPending, TCall, TSink> pump = run;
        TCall call = pump.Call;
        TSink sink = pump.Sink;
        CancellationToken token = pump.Token;
        long index = first;
        long end = Math.Min(index + _pace.Left, pump.Ceiling);
        _index = index;
        result = ClaimResult.Claimed;
        while (index < end && !pump.IsOver)
        {
            result = source.ReadOn(keptAs, ref Reads, out TItem? item);
            if (result != ClaimResult.Claimed)
            {
                break;
            }

            _index = index;
            if (_pace.IsSampling)
            {
                _pace.Sample(pump);
            }

            TPending pending = call.Invoke(item!, index, true, token);
            if (!pending.IsCompleted)
            {
                source.GiveUpKept(keptAs);
                _succeeded += index - first;
                _pending = pending;
                return true;
            }

            sink.Succeeded(index, pending.GetResult());
            index++;
        }

        if (result == ClaimResult.Claimed)
        {
            source.GiveUpKept(keptAs);
        }

        _succeeded += index - first;
        _pace.Left -= (int)(index - first);
        return false;
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
