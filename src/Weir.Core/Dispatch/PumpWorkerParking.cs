using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <content>Calls that the worker does not wait for itself; see <see cref="ParkedCall"/>.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    private ParkedCalls<TResult, TPending>? _parked;

    public override void Retire()
    {
        RetireGuard();
        if (_parked is { } parked)
        {
            _parked = null;
            parked.GiveBack();
        }
    }

    /// <summary>Records the failure of a parked call on the current thread, and then works on.</summary>
    public void FailParked(long index, Exception error)
    {
        _index = index;
        _awaited = error;
        _wait = Wait.Failure;
        Work();
    }

    private StepResult ParkCall(int next)
    {
        _pace.Reset();
        _chunk.Position = next;
        TPending pending = _pending;
        _pending = default;
        ParkedCalls<TResult, TPending> parked = _parked ??= ParkedCalls<TResult, TPending>.Take();
        try
        {
            pending.BecomeTask();
            parked.Next().Begin(run, _index, pending);
            parked.Untold++;
            return StepResult.Ready;
        }
        catch (Exception e)
        {
            // A task source of the user that cannot be waited for, or no memory. The calls are not used again, because one of them may have begun.
            TellParked();
            _parked = null;
            return Fail(_index, ItemStatus.Failed, e);
        }
    }

    private void TellParked()
    {
        if (_parked is { Untold: > 0 } parked)
        {
            run.AddParked(parked.Untold);
            parked.Untold = 0;
        }
    }
}
