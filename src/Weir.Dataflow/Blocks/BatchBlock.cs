using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that collects messages into arrays of a fixed length.</summary>
/// <typeparam name="T">The type of the messages.</typeparam>
/// <remarks>
/// All members are thread-safe. The messages of a batch keep their order. BoundedCapacity counts messages, including those in waiting batches.
/// </remarks>
public sealed class BatchBlock<T> : PropagatorBlock<T, T[]>
{
    private readonly BatchCore<T> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="batchSize">The number of messages in a batch; at least 1.</param>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive or greater than BoundedCapacity.</exception>
    public BatchBlock(int batchSize)
        : this(batchSize, BlockOptions.NoneOfGrouping)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="batchSize">The number of messages in a batch; at least 1.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive or greater than BoundedCapacity.</exception>
    public BatchBlock(int batchSize, GroupingDataflowBlockOptions dataflowBlockOptions)
        : this(batchSize, BlockOptions.Of(dataflowBlockOptions), null, null)
    {
    }

    /// <summary>Creates a block with default options that also sends an incomplete batch when its first message has waited for a given time.</summary>
    /// <param name="batchSize">The number of messages in a batch; at least 1.</param>
    /// <param name="flushAfter">The longest time that the first message of a batch waits; positive and at most 4294967294 ms (49.7 days).</param>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive, or the time is out of its range.</exception>
    public BatchBlock(int batchSize, TimeSpan flushAfter)
        : this(batchSize, flushAfter, BlockOptions.NoneOfGrouping)
    {
    }

    /// <summary>Creates a block that also sends an incomplete batch when its first message has waited for a given time.</summary>
    /// <param name="batchSize">The number of messages in a batch; at least 1.</param>
    /// <param name="flushAfter">
    /// The longest time that the first message of a batch waits, in a source if the block is not greedy; positive and at most 4294967294 ms (49.7 days).
    /// </param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">
    /// The batch size is not positive or greater than BoundedCapacity, or the time is out of its range.
    /// </exception>
    public BatchBlock(int batchSize, TimeSpan flushAfter, GroupingDataflowBlockOptions dataflowBlockOptions)
        : this(batchSize, flushAfter, TimeProvider.System, dataflowBlockOptions)
    {
    }

    /// <summary>Creates a block that also sends an incomplete batch when its first message has waited for a given time.</summary>
    /// <param name="batchSize">The number of messages in a batch; at least 1.</param>
    /// <param name="flushAfter">
    /// The longest time that the first message of a batch waits, in a source if the block is not greedy; positive and at most 4294967294 ms (49.7 days).
    /// </param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">
    /// The batch size is not positive or greater than BoundedCapacity, or the time is out of its range.
    /// </exception>
    public BatchBlock(int batchSize, TimeSpan flushAfter, TimeProvider timeProvider, GroupingDataflowBlockOptions dataflowBlockOptions)
        : this(batchSize, BlockOptions.Of(dataflowBlockOptions), flushAfter, timeProvider ?? throw new ArgumentNullException(nameof(timeProvider)))
    {
    }

    private BatchBlock(int batchSize, BlockOptions options, TimeSpan? flushAfter, TimeProvider? timeProvider) =>
        _core = new BatchCore<T>(this, batchSize, options, flushAfter, timeProvider);

    /// <summary>The number of messages in a batch.</summary>
    public int BatchSize => _core.BatchSize;

    /// <summary>The number of batches that wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    /// <summary>Makes a batch of the messages at hand, if there are any, without waiting until it is full.</summary>
    /// <remarks>Thread-safe.</remarks>
    public void TriggerBatch() => _core.Trigger();

    private protected override TargetCore<T> Input => _core;

    private protected override ReceiveSource<T[]> Output => _core.Source;

    private protected override IOfferSource<T[]> Offers => _core.Source;
}
