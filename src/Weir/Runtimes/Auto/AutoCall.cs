using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>One call of an <see cref="AutoRuntime"/>, as the watch sees it.</summary>
internal abstract class AutoCall(RuntimeCalls calls, string operation, ProcessManyOptions options, AutoPilot pilot)
    : PumpCall(calls, operation, options)
{
    public AutoPilot Pilot => pilot;

    /// <summary>Whether the run was stopped, so that no further item starts.</summary>
    public bool IsOver => Run.IsOver;

    /// <summary>Called by the run at each look of the stall watch.</summary>
    /// <param name="cores">How many cores the process has kept busy since the last look; not a number where the system does not say.</param>
    public override void OnWatch(double cores)
    {
        int stuck = ShareStuck(out bool shared);
        if (shared)
        {
            Run.AddQueued();
        }

        // Where it is not known, nothing is considered blocked.
        pilot.Tick(stuck, double.IsNaN(cores) ? Environment.ProcessorCount : cores);
    }

    /// <summary>The list was changed while the call was reading it.</summary>
    public void SourceFailed(Exception error) => Run.SourceFailed(error);

    /// <inheritdoc/>
    public override void Begin(Pump run, TimeSpan? batchTimeout, TimeProvider time)
    {
        pilot.Steer(run);
        base.Begin(run, batchTimeout, time);
    }

    /// <summary>Takes away the items that wait behind items that take long.</summary>
    /// <returns>How many items take long.</returns>
    protected abstract int ShareStuck(out bool shared);
}
