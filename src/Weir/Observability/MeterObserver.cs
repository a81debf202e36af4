using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Observability;

/// <summary>Counts the runs of the process for the meter: those under way, also if they began before anybody listened, and those that end meanwhile.</summary>
internal sealed class MeterObserver : RunObserver
{
    public override bool WantsEnds => WeirMeter.HasListeners;

    public override bool WantsWaits => WeirMeter.MeasuresWaits;

    public override void Waited(LiveRun run, WaitKind kind, TimeSpan elapsed)
    {
        try
        {
            WeirMeter.Waited(run, kind, elapsed);
        }
        catch (Exception)
        {
            // As below.
        }
    }

    public override void Ended(LiveRun run, ItemStatus ending)
    {
        try
        {
            WeirMeter.End(run, ending);
        }
        catch (Exception)
        {
            // Its clock or its tags may be the user's, and there may be no memory: the run is not counted then, and ends as it would.
            WeirMeter.Drop(run);
        }
    }
}
