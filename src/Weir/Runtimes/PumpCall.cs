using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <summary>A call of a runtime that uses the engine.</summary>
internal class PumpCall(RuntimeCalls calls, string operation, ProcessManyOptions options) : RuntimeCall(calls, operation, options)
{
    public Pump Run { get; private set; } = null!;

    public override TimeProvider Time => Run.Time;

    public override RunSample Sample() => Run.Sample();

    public override void GiveUp(ItemStatus status, TimeSpan limit = default) =>
        Run.Abort(status, status == ItemStatus.TimedOut ? TimeLimit.OfRun(limit) : null);

    protected override void DeadlineFailed(Exception error, TimeSpan limit) => Run.WorkFailed(error);

    /// <summary>The settings of the run, where something moves its limit and its threads.</summary>
    public virtual PumpSettings Steer(PumpSettings settings) => settings;

    /// <summary>Adds the run to the running calls and starts its deadline.</summary>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public virtual void Begin(Pump run, TimeSpan? batchTimeout, TimeProvider time)
    {
        Run = run;
        Enter(batchTimeout, time);
    }

    /// <summary>The run has ended.</summary>
    public virtual void End() => Leave();
}
