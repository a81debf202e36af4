using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that collects a number of messages from all its targets into one list per target.</summary>
/// <typeparam name="T1">The type of the first target's messages.</typeparam>
/// <typeparam name="T2">The type of the second target's messages.</typeparam>
/// <remarks>All members are thread-safe. Always greedy and unbounded.</remarks>
public sealed class BatchedJoinBlock<T1, T2> : SourceBlock<Tuple<IList<T1>, IList<T2>>>
{
    private readonly BatchedJoinCore<T1, T2> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="batchSize">The number of messages in a batch, of all targets together; at least 1.</param>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive.</exception>
    public BatchedJoinBlock(int batchSize)
        : this(batchSize, BlockOptions.NoneOfGrouping)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="batchSize">The number of messages in a batch, of all targets together; at least 1.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentException">The options are not greedy, or bounded.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive.</exception>
    public BatchedJoinBlock(int batchSize, GroupingDataflowBlockOptions dataflowBlockOptions) =>
        _core = new BatchedJoinCore<T1, T2>(this, batchSize, BlockOptions.Of(dataflowBlockOptions));

    /// <summary>The number of messages in a batch.</summary>
    public int BatchSize => _core.BatchSize;

    /// <summary>The target for the first part.</summary>
    public ITargetBlock<T1> Target1 => _core.Target1;

    /// <summary>The target for the second part.</summary>
    public ITargetBlock<T2> Target2 => _core.Target2;

    /// <summary>The number of tuples that wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    private protected override ReceiveSource<Tuple<IList<T1>, IList<T2>>> Output => _core.Source;

    private protected override IOfferSource<Tuple<IList<T1>, IList<T2>>> Offers => _core.Source;

    private protected override BlockOptions Options => _core.Options;

    private protected override void End(Exception? exception) => _core.End(exception);

    private protected override void Show(BlockView view)
    {
        base.Show(view);
        view.BatchSize = BatchSize;
    }
}

/// <summary>A block that collects a number of messages from all its targets into one list per target.</summary>
/// <typeparam name="T1">The type of the first target's messages.</typeparam>
/// <typeparam name="T2">The type of the second target's messages.</typeparam>
/// <typeparam name="T3">The type of the third target's messages.</typeparam>
/// <remarks>All members are thread-safe. Always greedy and unbounded.</remarks>
public sealed class BatchedJoinBlock<T1, T2, T3> : SourceBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>>
{
    private readonly BatchedJoinCore<T1, T2, T3> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="batchSize">The number of messages in a batch, of all targets together; at least 1.</param>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive.</exception>
    public BatchedJoinBlock(int batchSize)
        : this(batchSize, BlockOptions.NoneOfGrouping)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="batchSize">The number of messages in a batch, of all targets together; at least 1.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentException">The options are not greedy, or bounded.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive.</exception>
    public BatchedJoinBlock(int batchSize, GroupingDataflowBlockOptions dataflowBlockOptions) =>
        _core = new BatchedJoinCore<T1, T2, T3>(this, batchSize, BlockOptions.Of(dataflowBlockOptions));

    /// <summary>The number of messages in a batch.</summary>
    public int BatchSize => _core.BatchSize;

    /// <summary>The target for the first part.</summary>
    public ITargetBlock<T1> Target1 => _core.Target1;

    /// <summary>The target for the second part.</summary>
    public ITargetBlock<T2> Target2 => _core.Target2;

    /// <summary>The target for the third part.</summary>
    public ITargetBlock<T3> Target3 => _core.Target3;

    /// <summary>The number of tuples that wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    private protected override ReceiveSource<Tuple<IList<T1>, IList<T2>, IList<T3>>> Output => _core.Source;

    private protected override IOfferSource<Tuple<IList<T1>, IList<T2>, IList<T3>>> Offers => _core.Source;

    private protected override BlockOptions Options => _core.Options;

    private protected override void End(Exception? exception) => _core.End(exception);

    private protected override void Show(BlockView view)
    {
        base.Show(view);
        view.BatchSize = BatchSize;
    }
}
