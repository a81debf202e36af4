using System.Globalization;
using System.Runtime.InteropServices;

namespace Weir.Runtimes;

/// <summary>The measurements of a call's items since the last look.</summary>
[StructLayout(LayoutKind.Auto)]
internal struct AutoSample
{
    /// <summary>Items whose call has returned, completed or not.</summary>
    public long Items;

    /// <summary>The time inside their calls until these returned, in Stopwatch ticks.</summary>
    public long Ticks;

    /// <summary>Items whose call returned before they had completed.</summary>
    public long Suspended;

    /// <summary>The time inside those calls whose processor time was also measured.</summary>
    public long SampledTicks;

    /// <summary>The processor time of those calls.</summary>
    public long CpuTicks;

    // Zero until there was one.
    private double _quickest;

    /// <summary>Ticks of an item's call in the fastest claim of many items: the time an item takes while nothing takes the processor away from it.</summary>
    public readonly double Quickest => _quickest > 0 ? _quickest : PerItem;

    /// <summary>Ticks of an item's call.</summary>
    public readonly double PerItem => Items == 0 ? 0 : (double)Ticks / Items;

    /// <summary>The share of items that suspended.</summary>
    public readonly double Share => Items == 0 ? 0 : (double)Suspended / Items;

    /// <summary>The share of the time inside calls in which a processor worked; 1 if it is not known.</summary>
    public readonly double CpuShare => SampledTicks == 0 ? 1 : Math.Min(1, (double)CpuTicks / SampledTicks);

    /// <summary>Records the time per item of a claim of many items.</summary>
    public void AddClaim(double perItem) => _quickest = _quickest > 0 ? Math.Min(_quickest, perItem) : perItem;

    /// <summary>The figures as text.</summary>
    public override readonly string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{new AutoTime(PerItem)} in an item's call, {CpuShare:P0} of it computing, {Share:P0} of the items suspend");
}
