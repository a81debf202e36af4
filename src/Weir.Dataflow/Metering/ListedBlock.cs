using System.Runtime.CompilerServices;

namespace Weir.Dataflow.Metering;

/// <summary>The place of a block among those under way. The block takes it with its first message, and leaves it when it is complete.</summary>
internal struct ListedBlock
{
    private BlockEntry? _entry;

    /// <summary>A message comes. Under the block's lock; throws nothing, and runs no code of listeners'.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin(IMeteredBlock block)
    {
        if (_entry is null)
        {
            _entry = Enter(block);
        }
    }

    /// <summary>The block is complete, and its counts are those that it ends with.</summary>
    public readonly void End()
    {
        if (_entry is { } entry)
        {
            BlockTotals.End(entry, BlockListeners.IsMetered);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static BlockEntry? Enter(IMeteredBlock block)
    {
        try
        {
            return BlockTotals.Begin(block);
        }
        catch (OutOfMemoryException)
        {
            // The message matters more than its count. The next one tries again.
            return null;
        }
    }
}
