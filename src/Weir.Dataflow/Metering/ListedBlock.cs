using System.Runtime.CompilerServices;

namespace Weir.Dataflow.Metering;

/// <summary>The place of a block among those under way. The block takes it with its first message, and leaves it when it is complete.</summary>
internal struct ListedBlock
{
    private int _place;

    /// <summary>A message comes. Under the block's lock; throws nothing, and runs no code of listeners'.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin(IMeteredBlock block)
    {
        if (_place == 0)
        {
            _place = Enter(block);
        }
    }

    /// <summary>The block is complete, and its counts are those that it ends with.</summary>
    public readonly void End(IMeteredBlock block)
    {
        if (_place != 0)
        {
            BlockTotals.End(_place, block, BlockListeners.IsMetered);
        }
    }

    /// <summary>A call of the block has failed, or was cancelled if there is no error.</summary>
    public readonly void Failed(IMeteredBlock block, Exception? error)
    {
        if (_place != 0)
        {
            BlockTotals.Failed(_place, block, error);
        }
    }

    /// <summary>The label under which the block is counted; null if it is not.</summary>
    public readonly BlockLabel? Label(IMeteredBlock block) => _place == 0 ? null : BlockTotals.LabelOf(_place, block);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Enter(IMeteredBlock block)
    {
        try
        {
            return BlockTotals.Begin(block);
        }
        catch (OutOfMemoryException)
        {
            // The message matters more than its count.
            return 0;
        }
    }
}
