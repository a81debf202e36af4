using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;

namespace Weir.Runtimes;

/// <summary>What was measured of a call's items since the last look at it.</summary>
[StructLayout(LayoutKind.Auto)]
internal struct AutoSample
{
    /// <summary>Items whose call has returned, done or not.</summary>
    public long Items;

    /// <summary>Time inside their calls until these returned, in Stopwatch ticks.</summary>
    public long Ticks;

    /// <summary>Items whose call returned before they were done.</summary>
    public long Suspended;

    /// <summary>Time inside calls of which the processor time was measured too.</summary>
    public long SampledTicks;

    /// <summary>The processor time of those.</summary>
    public long CpuTicks;

    // Zero while there was none.
    private double _quickest;

    /// <summary>Ticks of an item's call, in the claim of many items in which they were the shortest: what an item takes while nobody takes the processor away from it.</summary>
    public readonly double Quickest => _quickest > 0 ? _quickest : PerItem;

    /// <summary>Ticks of an item's call.</summary>
    public readonly double PerItem => Items == 0 ? 0 : (double)Ticks / Items;

    /// <summary>The share of items that suspended.</summary>
    public readonly double Share => Items == 0 ? 0 : (double)Suspended / Items;

    /// <summary>The share of the time inside calls in which a processor worked; 1 when it is not known.</summary>
    public readonly double CpuShare => SampledTicks == 0 ? 1 : Math.Min(1, (double)CpuTicks / SampledTicks);

    /// <summary>Notes what an item of a claim took that had many of them.</summary>
    public void AddClaim(double perItem) => _quickest = _quickest > 0 ? Math.Min(_quickest, perItem) : perItem;

    /// <summary>The figures as text.</summary>
    public override readonly string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{Time(PerItem)} in an item's call, {CpuShare:P0} of it computing, {Share:P0} of the items suspend");

    /// <summary>A time in a unit that suits it.</summary>
    public static string Time(double ticks)
    {
        double nanoseconds = ticks / Stopwatch.Frequency * 1e9;
        return nanoseconds switch
        {
            < 1e3 => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds:0.#} ns"),
            < 1e6 => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds / 1e3:0.#} us"),
            _ => string.Create(CultureInfo.InvariantCulture, $"{nanoseconds / 1e6:0.#} ms"),
        };
    }
}
