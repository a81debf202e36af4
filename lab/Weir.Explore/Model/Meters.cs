using System.Diagnostics.Metrics;

namespace Weir.Explore.Model;

/// <summary>What is registered in the process goes with its schedule.</summary>
[Replaces("System.Diagnostics.Metrics.Meter")]
[Replaces("System.Diagnostics.Metrics.MeterListener")]
internal static class Meters
{
    public static Meter New(string name) => Kept(new Meter(name));

    public static Meter New(string name, string? version) => Kept(new Meter(name, version));

    public static Meter New(MeterOptions options) => Kept(new Meter(options));

    public static Meter New(string name, string? version, IEnumerable<KeyValuePair<string, object?>>? tags, object? scope) =>
        Kept(new Meter(name, version, tags, scope));

    public static MeterListener New() => Kept(new MeterListener());

    private static T Kept<T>(T kept)
        where T : IDisposable
    {
        Order.UseInstruments();
        Statics.DisposeLater(kept);
        return kept;
    }
}
