using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>
/// A call that has suspended in a run whose items may all be in flight at once. Nothing but its end is left to wait for, so it needs no worker: the one that
/// made it goes on to the next item.
/// </summary>
/// <remarks>
/// It belongs to one run at a time and is used again by later ones. That is safe because it waits for a task, which calls its continuation exactly once, and
/// because a run lets go of its calls only when all of them have ended.
/// </remarks>
internal abstract class ParkedCall : PumpWork
{
    private Pump? _run;

    /// <summary>The index of its item.</summary>
    public long Index;

    protected sealed override Pump Run => _run!;

    protected sealed override bool RunsNoUserCode => true;

    protected void Begin(Pump run, long index)
    {
        Debug.Assert(_run is null, "A parked call belongs to one run at a time.");
        _run = run;
        Index = index;
    }

    protected sealed override bool MayEnter() => true;

    protected sealed override void Drive()
    {
        // After its end, the call may already belong to another run.
        Pump run = _run!;
        _run = null;
        run.EndParked(this);
    }
}
