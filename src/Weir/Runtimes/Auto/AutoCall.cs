using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>One call of an <see cref="AutoRuntime"/>, as the watch sees it.</summary>
internal abstract class AutoCall(RuntimeCalls calls, AutoPilot pilot) : CallEnd(calls)
{
    private Pump? _run;

    public AutoPilot Pilot => pilot;

    /// <summary>The place in the list of the watch; -1 when it is not in it. Guarded by the watch's lock.</summary>
    public int WatchIndex { get; set; } = -1;

    /// <summary>Whether the run was stopped, so that no further item starts.</summary>
    public bool IsOver => _run!.IsOver;

    public Pump Run => _run!;

    /// <summary>Looks after the call.</summary>
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

    /// <summary>Enters the run among the running calls, starts the clock of its deadline, and looks after it from now on.</summary>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public void BeginWatched(Pump run, TimeSpan? batchTimeout, TimeProvider time)
    {
        _run = run;
        pilot.Steer(run);

        // Before its deadline can end it, and with it take it out of the watch.
        AutoWatch.Add(this);
        try
        {
            Begin(run, batchTimeout, time);
        }
        catch
        {
            AutoWatch.Remove(this);
            throw;
        }
    }

    /// <summary>Takes away what waits behind items that take long.</summary>
    /// <returns>How many items take long.</returns>
    protected abstract int ShareStuck(out bool shared);
}
