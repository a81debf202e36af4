using System.Diagnostics.CodeAnalysis;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// The tokens of a worker's timed items. Each item has its own source, because user code may keep a token for longer than its item runs. Then only the run may
/// cancel it, and never the time limit of the worker's next item.
/// </summary>
/// <remarks>
/// Linking each source with the run's token would cost a registration per item, under a lock that all workers share, and could be undone only by forgetting
/// those whose tokens are still in use. So the sources are in blocks. Each source knows its block and so keeps it alive while its token is in use. The worker
/// keeps weak references to the blocks, and the run's stop cancels what is left of them.
/// </remarks>
internal sealed class ItemTokens
{
    private const int FewestBlocks = 16;

    // The blocks before this one, created with the second. In a small fan-out, most workers have one item, so the first block holds
    // one source, and each later one four times as many as the one before.
    private List<WeakReference<Block>>? _ended;
    private Block _block = new([]);
    private int _count;
    private int _pruneAt = FewestBlocks;
    private bool _stopped;

    /// <summary>The next in the list of the run, which stops them all; see <see cref="Pump.AddTokens"/>.</summary>
    public ItemTokens? NextOfRun;

    /// <summary>How many blocks of ended items are still known.</summary>
    public int Blocks
    {
        get
        {
            lock (this)
            {
                return _ended?.Count ?? 0;
            }
        }
    }

    /// <summary>Creates the source of the next item. Only for the worker.</summary>
    public CancellationTokenSource Next()
    {
        if (_count > _block.More.Length)
        {
            Begin();
        }

        Source source = new(_block);
        Volatile.Write(ref _count == 0 ? ref _block.First : ref _block.More[_count - 1], source);
        _count++;

        // In this order; see StopAll.
        if (Volatile.Read(ref _stopped))
        {
            source.Cancel();
        }

        return source;
    }

    private void Begin()
    {
        lock (this)
        {
            _ended ??= [];
            if (_ended.Count >= _pruneAt)
            {
                _ended.RemoveAll(static block => !block.TryGetTarget(out _));
                _pruneAt = Math.Max(FewestBlocks, 2 * _ended.Count);
            }

            _ended.Add(new WeakReference<Block>(_block));
            _block = new Block(new Source?[Math.Min(Block.Most, 4 * (_block.More.Length + 1)) - 1]);
            _count = 0;
        }
    }

    /// <summary>The run has stopped: cancels the token of the running item, and those tokens of ended items that are still in use.</summary>
    /// <param name="later">Whether the user's callbacks run on other threads.</param>
    public void StopAll(bool later)
    {
        // Either the worker sees this before its next item begins, or that item's source is seen here. The worker needs no barrier.
        Volatile.Write(ref _stopped, true);
        Interlocked.MemoryBarrierProcessWide();
        List<Block> blocks;
        lock (this)
        {
            blocks = [_block];
            foreach (WeakReference<Block> ended in _ended ?? [])
            {
                if (ended.TryGetTarget(out Block? block))
                {
                    blocks.Add(block);
                }
            }
        }

        foreach (Block block in blocks)
        {
            Cancel(ref block.First, later);
            foreach (ref Source? source in block.More.AsSpan())
            {
                Cancel(ref source, later);
            }
        }
    }

    private static void Cancel(ref Source? source, bool later)
    {
        if (Volatile.Read(ref source) is not { } made)
        {
            return;
        }

        if (later)
        {
            SafeCancel.Later(made);
        }
        else
        {
            SafeCancel.Now(made);
        }
    }

    /// <summary>Sources that are kept alive as long as any of their tokens.</summary>
    private sealed class Block(Source?[] more)
    {
        // So many that a weak reference costs an item almost nothing, and so few that a token in use keeps little alive.
        public const int Most = 32;

        public readonly Source?[] More = more;
        public Source? First;
    }

    [SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
        Justification = "It has neither timer nor link; user code may hold its token for longer than the item.")]
    private sealed class Source(Block block) : CancellationTokenSource
    {
        public Block Block { get; } = block;
    }
}
