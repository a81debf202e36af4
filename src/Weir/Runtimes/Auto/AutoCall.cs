using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>One call of an <see cref="AutoRuntime"/>: a run of the engine whose limit and threads a pilot moves.</summary>
/// <param name="calls">The running calls of the runtime.</param>
/// <param name="operation">The method that was called.</param>
/// <param name="options">The options of the call.</param>
/// <param name="pilot">The pilot.</param>
/// <param name="budget">What the calls of the runtime share.</param>
/// <param name="ended">Told once when the call has ended.</param>
internal sealed class AutoCall(
    RuntimeCalls calls, string operation, ProcessManyOptions options, AutoPilot pilot, AutoBudget budget, Action<AutoPilot> ended)
    : RuntimeCall(calls, operation, options)
{
    public AutoPilot Pilot => pilot;

    public override PumpSettings Steer(PumpSettings settings) =>
        settings with { Limit = pilot.InFlight, Executor = pilot.Executor, Pilot = pilot };

    public override void Begin(Pump run, TimeSpan? batchTimeout, TimeProvider time)
    {
        pilot.Steer(run);

        // First: the call may end at once.
        budget.Enter();
        try
        {
            base.Begin(run, batchTimeout, time);
        }
        catch
        {
            budget.Leave();
            throw;
        }
    }

    protected override void Leave()
    {
        pilot.Release();
        base.Leave();
        budget.Leave();
        ended(pilot);
    }
}
