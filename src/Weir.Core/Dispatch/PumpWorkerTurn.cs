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
        if (run.WaitingReaders.Any)
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
        if (!run.Source.IsReading || !run.WaitingReaders.TryBeginSpinning())
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
            run.WaitingReaders.EndSpinning();
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
