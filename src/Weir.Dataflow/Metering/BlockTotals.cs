namespace Weir.Dataflow.Metering;

/// <summary>The blocks under way, and the sums of those that have ended, by name. Thread-safe; runs no code of the user's.</summary>
internal static class BlockTotals
{
    /// <summary>How many labels are kept. Further ones are counted together, so that names that never repeat do not fill the memory.</summary>
    private const int MostLabels = 1000;
    private const int FewBlocks = 64;

    private static readonly Lock Lock = new();
    private static readonly Dictionary<BlockLabel, BlockSample> Ended = [];
    private static BlockEntry? _first;
    private static int _count;

    /// <summary>At so many blocks, those that were collected without having been completed are looked for.</summary>
    private static int _sweepAt = FewBlocks;

    /// <summary>A block takes its first message. The caller may hold the block's lock.</summary>
    public static BlockEntry Begin(IMeteredBlock block)
    {
        BlockEntry entry = new(block);
        lock (Lock)
        {
            if (_count >= _sweepAt)
            {
                SweepNeedsLock();
            }

            entry.IsListed = true;
            entry.Next = _first;
            if (_first is not null)
            {
                _first.Previous = entry;
            }

            _first = entry;
            _count++;
        }

        return entry;
    }

    /// <summary>A block is complete. It counts among those that have ended if anybody reads it, or has done so.</summary>
    public static void End(BlockEntry entry, bool isMetered)
    {
        lock (Lock)
        {
            EndNeedsLock(entry, isMetered);
        }
    }

    /// <summary>The sums by label. Those without a block are zero rather than absent, so that nobody takes their last value for the present one.</summary>
    public static Dictionary<BlockLabel, BlockSample> Sum()
    {
        Dictionary<BlockLabel, BlockSample> sums;
        lock (Lock)
        {
            SweepNeedsLock();
            for (BlockEntry? entry = _first; entry is not null; entry = entry.Next)
            {
                _ = LabelNeedsLock(entry);
            }

            sums = new(Ended);
            for (BlockEntry? entry = _first; entry is not null; entry = entry.Next)
            {
                Add(sums, entry.Label!, entry.Read());
            }
        }

        return sums;
    }

    /// <summary>A call of a block has failed.</summary>
    public static void Failed(BlockEntry entry, Exception error)
    {
        string type = error.GetType().FullName ?? error.GetType().Name;
        lock (Lock)
        {
            entry.Failed(type);
        }
    }

    /// <summary>The label under which the block is counted.</summary>
    public static BlockLabel LabelOf(BlockEntry entry)
    {
        lock (Lock)
        {
            return LabelNeedsLock(entry);
        }
    }

    private static BlockLabel LabelNeedsLock(BlockEntry entry)
    {
        if (entry.Label is not { } label)
        {
            label = entry.NewLabel();
            entry.Label = label = Ended.ContainsKey(label) || Ended.Count < MostLabels ? label : BlockLabel.Overflow;
            Ended.TryAdd(label, default);
        }

        return label;
    }

    private static void SweepNeedsLock()
    {
        for (BlockEntry? entry = _first, next; entry is not null; entry = next)
        {
            next = entry.Next;
            if (!entry.IsAlive)
            {
                EndNeedsLock(entry, isMetered: false);
            }
        }

        _sweepAt = Math.Max(FewBlocks, 2 * _count);
    }

    private static void EndNeedsLock(BlockEntry entry, bool isMetered)
    {
        if (!entry.IsListed)
        {
            return;
        }

        if (isMetered || entry.Label is not null)
        {
            // In one step with its leaving the list, so that a counter never decreases.
            BlockSample sample = entry.Read();
            sample.End();
            Add(Ended, LabelNeedsLock(entry), sample);
        }

        entry.IsListed = false;
        if (entry.Previous is null)
        {
            _first = entry.Next;
        }
        else
        {
            entry.Previous.Next = entry.Next;
        }

        if (entry.Next is not null)
        {
            entry.Next.Previous = entry.Previous;
        }

        entry.Previous = entry.Next = null;
        _count--;
        entry.Free();
    }

    private static void Add(Dictionary<BlockLabel, BlockSample> sums, BlockLabel label, in BlockSample sample)
    {
        // The sums that are read must not share a dictionary with those that grow.
        BlockSample sum = default;
        sum.Add(sums.GetValueOrDefault(label));
        sum.Add(sample);
        sums[label] = sum;
    }
}
