using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Dataflow.Metering;

/// <summary>A block in the list of those under way, which does not keep it alive. A block has one from its first message on.</summary>
internal sealed class BlockEntry
{
    private readonly Type _type;
    private GCHandle _block;

    /// <summary>What was read last. Only a block that somebody reads has it.</summary>
    private StrongBox<BlockSample>? _last;
    private Dictionary<string, long>? _failed;
    private long _cancelled;

    public BlockEntry(IMeteredBlock block)
    {
        _type = block.Type;
        _block = GCHandle.Alloc(block, GCHandleType.Weak);
    }

    /// <summary>The neighbours in the list; for <see cref="BlockTotals"/>.</summary>
    public BlockEntry? Previous { get; set; }

    public BlockEntry? Next { get; set; }

    public bool IsListed { get; set; }

    /// <summary>Under which the block is counted, once somebody has read it.</summary>
    public BlockLabel? Label { get; set; }

    /// <summary>What becomes of calls while somebody asks for each of them; otherwise null.</summary>
    public CallWatch? Watch { get; set; }

    public bool IsAlive => _block.IsAllocated && _block.Target is not null;

    /// <summary>A call has failed. For <see cref="BlockTotals"/>, under its lock, as all that follows.</summary>
    public void Failed(string error)
    {
        _failed ??= new(StringComparer.Ordinal);
        _failed[error] = _failed.GetValueOrDefault(error) + 1;
    }

    /// <summary>A call was cancelled: its message has no result, and the block goes on.</summary>
    public void Cancelled() => Interlocked.Increment(ref _cancelled);

    /// <summary>Tells what the block is called.</summary>
    public BlockLabel NewLabel() => new(_type.Name.Split('`')[0], (_block.Target as IMeteredBlock)?.Name);

    /// <summary>The counts; those that were read last if the block is gone.</summary>
    public BlockSample Read()
    {
        if (_block.IsAllocated && _block.Target is IMeteredBlock block)
        {
            BlockSample sample = block.Sample();
            sample.NotBefore((_last ??= new()).Value);
            sample.Blocks = 1;
            sample.Cancelled = Volatile.Read(ref _cancelled);
            sample.Failed = _failed;
            _last.Value = sample;
            return sample;
        }

        BlockSample last = _last?.Value ?? default;
        last.End();
        return last;
    }

    /// <summary>Lets go of the block.</summary>
    public void Free()
    {
        if (_block.IsAllocated)
        {
            _block.Free();
        }
    }
}
