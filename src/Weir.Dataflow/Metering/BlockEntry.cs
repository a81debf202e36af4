using System.Runtime.InteropServices;

namespace Weir.Dataflow.Metering;

/// <summary>A place for a block among those under way, which does not keep it alive. A struct, because each block that is used has one.</summary>
internal struct BlockEntry(IMeteredBlock block)
{
    private GCHandle _block = GCHandle.Alloc(block, GCHandleType.Weak);

    /// <summary>What is known of the block; null as long as nobody asks.</summary>
    public BlockRecord? Record { get; set; }

    /// <summary>Whether the place is taken, also by a block that is gone.</summary>
    public readonly bool IsTaken => _block.IsAllocated;

    /// <summary>The block, unless it is gone.</summary>
    public readonly IMeteredBlock? Block => _block.IsAllocated ? (IMeteredBlock?)_block.Target : null;

    /// <summary>Lets go of the block. The place is free.</summary>
    public void Free()
    {
        _block.Free();
        Record = null;
    }
}
