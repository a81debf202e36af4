using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>One call of an <see cref="AutoRuntime"/>, as the watch sees it.</summary>
internal abstract class AutoCall(RuntimeCalls calls, AutoPilot pilot) : PumpCall(calls)
{
    public AutoPilot Pilot => pilot;

    /// <summary>The index in the watch's list, or -1 if it is not in the list. Guarded by the watch's lock.</summary>
    public int WatchIndex { get; set; } = -1;

    /// <summary>Whether the run was stopped, so that no further item starts.</summary>
    public bool IsOver => Run.IsOver;

    /// <summary>Checks on the call.</summary>
    /// <param name="cores">How many cores the process has kept busy since the last time.</param>
    public void Tick(double cores)
    {
        int stuck = ShareStuck(out bool shared);
        if (shared)
        {
            Run.AddQueued();
        }

        pilot.Tick(stuck, cores);
    }

    /// <summary>The list was changed while the call was reading it.</summary>
    public void SourceFailed(Exception error) => Run.SourceFailed(error);

    /// <inheritdoc/>
    /// <remarks>The call is watched from now on.</remarks>
    public override void Begin(Pump run, TimeSpan? batchTimeout, TimeProvider time)
    {
        Run = run;
        pilot.Steer(run);

        // Before its deadline can end it and remove it from the watch.
        AutoWatch.Add(this);
        try
        {
            base.Begin(run, batchTimeout, time);
        }
        catch
        {
            AutoWatch.Remove(this);
            throw;
        }
    }

    /// <summary>Takes away the items that wait behind items that take long.</summary>
    /// <returns>How many items take long.</returns>
    protected abstract int ShareStuck(out bool shared);
}
