namespace Weir.Dataflow.Metering;

/// <summary>The blocks under way, and the sums of those that have ended, by name. Thread-safe; runs no code of the user's.</summary>
/// <remarks>
/// A block knows the number of its place, and nothing else: an object for each block would make all of them larger. It brings itself along, so that a place
/// that has another block by now stays as it is.
/// </remarks>
internal static class BlockTotals
{
    /// <summary>How many labels are kept. Further ones are counted together, so that names that never repeat do not fill the memory.</summary>
    private const int MostLabels = 1000;
    private const int FewBlocks = 64;

    private static readonly Lock Lock = new();
    private static readonly Dictionary<BlockLabel, BlockSample> Ended = [];

    /// <summary>The places. The first is nobody's, so that 0 is none.</summary>
    private static BlockEntry[] _entries = new BlockEntry[FewBlocks];

    /// <summary>How many places have been taken at some time.</summary>
    private static int _used = 1;

    /// <summary>Which of them are free. There is room for all, so that giving a place back needs no memory.</summary>
    private static Stack<int> _free = new(FewBlocks);

    /// <summary>At so many blocks, those that were collected without having been completed are looked for.</summary>
    private static int _sweepAt = FewBlocks;

    private static int Count => _used - 1 - _free.Count;

    /// <summary>A block takes its first message. The caller may hold the block's lock.</summary>
    /// <returns>The number of its place.</returns>
    public static int Begin(IMeteredBlock block)
    {
        lock (Lock)
        {
            if (Count >= _sweepAt)
            {
                SweepNeedsLock();
            }

            // What needs memory comes first.
            if (_free.Count == 0 && _used == _entries.Length)
            {
                GrowNeedsLock();
            }

            BlockEntry entry = new(block);
            int place = _free.TryPop(out int free) ? free : _used++;
            _entries[place] = entry;
            return place;
        }
    }

    /// <summary>A block is complete. It counts among those that have ended if anybody reads it, or has done so.</summary>
    public static void End(int place, IMeteredBlock block, bool isMetered)
    {
        lock (Lock)
        {
            if (IsOfNeedsLock(place, block))
            {
                EndNeedsLock(place, isMetered);
                ForgetPlacesNeedsLock();
            }
        }
    }

    /// <summary>The sums by label. Those without a block are zero rather than absent, so that nobody takes their last value for the present one.</summary>
    public static Dictionary<BlockLabel, BlockSample> Sum()
    {
        Dictionary<BlockLabel, BlockSample> sums;
        lock (Lock)
        {
            SweepNeedsLock();
            for (int place = 1; place < _used; place++)
            {
                // One that is collected just now has been read by nobody, or has a label.
                if (_entries[place].Block is { } block)
                {
                    _ = LabelNeedsLock(ref _entries[place], block);
                }
            }

            sums = new(Ended);
            for (int place = 1; place < _used; place++)
            {
                ref BlockEntry entry = ref _entries[place];
                if (entry.Record is { Label: { } label } record)
                {
                    Add(sums, label, record.Read(entry.Block));
                }
            }
        }

        return sums;
    }

    /// <summary>A call of a block has failed.</summary>
    /// <param name="place">The block's place.</param>
    /// <param name="block">The block.</param>
    /// <param name="error">What it threw; null if it was cancelled.</param>
    public static void Failed(int place, IMeteredBlock block, Exception? error)
    {
        string? type = error is null ? null : error.GetType().FullName ?? error.GetType().Name;
        lock (Lock)
        {
            if (IsOfNeedsLock(place, block))
            {
                (_entries[place].Record ??= new BlockRecord()).Failed(type);
            }
        }
    }

    /// <summary>The label under which the block is counted; null if it is not.</summary>
    public static BlockLabel? LabelOf(int place, IMeteredBlock block)
    {
        lock (Lock)
        {
            return IsOfNeedsLock(place, block) ? LabelNeedsLock(ref _entries[place], block) : null;
        }
    }

    private static bool IsOfNeedsLock(int place, IMeteredBlock block) => place < _used && ReferenceEquals(_entries[place].Block, block);

    private static BlockLabel LabelNeedsLock(ref BlockEntry entry, IMeteredBlock block)
    {
        BlockRecord record = entry.Record ??= new BlockRecord();
        if (record.Label is not { } label)
        {
            label = BlockLabel.Of(block);
            record.Label = label = Ended.ContainsKey(label) || Ended.Count < MostLabels ? label : BlockLabel.Overflow;
            Ended.TryAdd(label, default);
        }

        return label;
    }

    private static void SweepNeedsLock()
    {
        for (int place = 1; place < _used; place++)
        {
            if (_entries[place] is { IsTaken: true, Block: null })
            {
                EndNeedsLock(place, isMetered: false);
            }
        }

        ForgetPlacesNeedsLock();
        _sweepAt = Math.Max(FewBlocks, 2 * Count);
    }

    private static void EndNeedsLock(int place, bool isMetered)
    {
        ref BlockEntry entry = ref _entries[place];
        IMeteredBlock? block = entry.Block;
        if (isMetered && block is not null)
        {
            _ = LabelNeedsLock(ref entry, block);
        }

        if (entry.Record is { Label: { } label } record)
        {
            // In one step with its leaving the list, so that a counter never decreases.
            BlockSample sample = record.Read(block);
            sample.End();
            Add(Ended, label, sample);
        }

        entry.Free();
        _free.Push(place);
    }

    private static void GrowNeedsLock()
    {
        int length = checked(_entries.Length * 2);
        _free.EnsureCapacity(length);
        Array.Resize(ref _entries, length);
    }

    /// <summary>When the last of many blocks has ended, the places of all of them go.</summary>
    private static void ForgetPlacesNeedsLock()
    {
        if (_entries.Length > FewBlocks && Count == 0)
        {
            try
            {
                (_entries, _free) = (new BlockEntry[FewBlocks], new Stack<int>(FewBlocks));
                _used = 1;
                _sweepAt = FewBlocks;
            }
            catch (OutOfMemoryException)
            {
                // Then they stay.
            }
        }
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
