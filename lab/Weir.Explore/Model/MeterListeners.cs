using System.Diagnostics.Metrics;

namespace Weir.Explore.Model;

/// <summary>What is registered in the process goes with its schedule.</summary>
[Replaces("System.Diagnostics.Metrics.MeterListener")]
internal static class MeterListeners
{
    public static MeterListener New()
    {
        MeterListener listener = new();
        Statics.DisposeLater(listener);
        return listener;
    }
}
