namespace Weir.Dataflow.Metering;

/// <summary>What the meter knows of a block that somebody has read, or whose calls have failed. Guarded by the lock of the totals.</summary>
internal sealed class BlockRecord
{
    private BlockSample _last;
    private Dictionary<string, long>? _failed;
    private long _cancelled;

    /// <summary>Under which the block is counted, once somebody has read it.</summary>
    public BlockLabel? Label { get; set; }

    /// <summary>A call has failed.</summary>
    /// <param name="error">The type of what it threw; null if it was cancelled: its message has no result, and the block goes on.</param>
    public void Failed(string? error)
    {
        if (error is null)
        {
            _cancelled++;
        }
        else
        {
            _failed ??= new(StringComparer.Ordinal);
            _failed[error] = _failed.GetValueOrDefault(error) + 1;
        }
    }

    /// <summary>The counts; those that were read last if the block is gone.</summary>
    public BlockSample Read(IMeteredBlock? block)
    {
        if (block is null)
        {
            _last.End();
            return _last;
        }

        BlockSample sample = block.Sample();
        sample.NotBefore(_last);
        sample.Blocks = 1;
        sample.Cancelled = _cancelled;
        sample.Failed = _failed;
        _last = sample;
        return sample;
    }
}
