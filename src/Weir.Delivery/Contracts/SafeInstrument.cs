using System.Diagnostics.Metrics;

namespace Weir.Delivery;

/// <summary>Makes instruments. A listener is told of each one, and may throw.</summary>
internal static class SafeInstrument
{
    /// <summary>Makes one; null if a listener threw: it must not keep a host or a program from running.</summary>
    public static Instrument? Make(Func<Instrument> create)
    {
        try
        {
            return create();
        }
        catch (Exception)
        {
            return null;
        }
    }
}
