using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that collects a number of messages, on whichever of its targets they come, into one list for each target.</summary>
/// <typeparam name="T1">The messages of the first target.</typeparam>
/// <typeparam name="T2">The messages of the second target.</typeparam>
/// <remarks>All members are thread-safe. Always greedy and unbounded.</remarks>
public sealed class BatchedJoinBlock<T1, T2> : SourceBlock<Tuple<IList<T1>, IList<T2>>>
{
    private readonly BatchedJoinCore<T1, T2> _core;

    /// <summary>A block with default options.</summary>
    /// <param name="batchSize">How many messages, of all targets together, make a batch, from 1.</param>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive.</exception>
    public BatchedJoinBlock(int batchSize)
        : this(batchSize, BlockOptions.None())
    {
    }

    /// <summary>A block with these options.</summary>
    /// <param name="batchSize">How many messages, of all targets together, make a batch, from 1.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentException">The options are not greedy, or bounded.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive.</exception>
    public BatchedJoinBlock(int batchSize, GroupingDataflowBlockOptions dataflowBlockOptions)
        : this(batchSize, BlockOptions.Of(dataflowBlockOptions))
    {
    }

    private BatchedJoinBlock(int batchSize, BlockOptions options) => _core = new BatchedJoinCore<T1, T2>(this, batchSize, options);

    /// <summary>How many messages make a batch.</summary>
    public int BatchSize => _core.BatchSize;

    /// <summary>Takes the first part.</summary>
    public ITargetBlock<T1> Target1 => _core.Target1;

    /// <summary>Takes the second part.</summary>
    public ITargetBlock<T2> Target2 => _core.Target2;

    /// <summary>How many tuples wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    /// <inheritdoc/>
    public override bool TryReceive([MaybeNullWhen(false)] out Tuple<IList<T1>, IList<T2>> item) => _core.Source.TryReceive(out item);

    /// <inheritdoc/>
    public bool TryReceiveAll([NotNullWhen(true)] out IList<Tuple<IList<T1>, IList<T2>>>? items) => _core.Source.TryReceiveAll(out items);

    /// <inheritdoc/>
    public override ValueTask<Tuple<IList<T1>, IList<T2>>> ReceiveValueAsync(CancellationToken cancellationToken = default) =>
        _core.Source.ReceiveValueAsync(cancellationToken);

    private protected override IReceiveSource<Tuple<IList<T1>, IList<T2>>> Output => _core.Source;

    private protected override IOfferSource<Tuple<IList<T1>, IList<T2>>> Offers => _core.Source;

    private protected override BlockOptions Options => _core.Options;

    private protected override void End(Exception? exception) => _core.End(exception);

    private protected override void Show(BlockView view)
    {
        base.Show(view);
        view.BatchSize = BatchSize;
    }
}
