using System.Runtime.InteropServices;

namespace Weir.Dataflow.Sync;

/// <summary>A number with cache lines of its own, because one thread writes it for every message while another reads what lies around it.</summary>
[StructLayout(LayoutKind.Explicit, Size = 128)]
internal struct Padded
{
    [FieldOffset(64)]
    public long Value;

    /// <summary>What that thread last saw of the other one's number.</summary>
    [FieldOffset(72)]
    public long Known;

    // What the reader of a queue tells of itself.
    [FieldOffset(80)]
    public long Discarded;

    [FieldOffset(88)]
    public bool IsInCall;
}
