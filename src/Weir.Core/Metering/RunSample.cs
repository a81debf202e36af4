using System.Runtime.InteropServices;

namespace Weir.Core.Metering;

/// <summary>Counts of one run at one moment, summed over its workers. Each count only grows; the sum is not atomic over the workers.</summary>
[StructLayout(LayoutKind.Auto)]
internal record struct RunSample
{
    /// <summary>Items whose call returned a result.</summary>
    public long Succeeded { get; set; }

    /// <summary>Items that ended without a result: failed, timed out or cancelled.</summary>
    public long Unsuccessful { get; set; }

    /// <summary>Items claimed from the source and not yet ended.</summary>
    public int InFlight { get; set; }

    /// <summary>Workers given up because their item passed its time limit.</summary>
    public long Abandoned { get; set; }
}
