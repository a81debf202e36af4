namespace Weir.Delivery;

/// <summary>A source of work: the consuming end of a queue, or a change stream.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// <para>
/// A batch that was read but not acknowledged is delivered again, to this consumer or to another, at the latest after this one is disposed or dies. So each
/// item is delivered at least once.
/// </para>
/// <para>
/// Only one caller may read at a time. Other threads may acknowledge, redeliver and return batches meanwhile. A source keeps its own connection alive, so a
/// failed call may be repeated. A <see cref="WorkSetupException"/> means that repeating does not help.
/// </para>
/// <para>A source buffers a bounded number of batches.</para>
/// </remarks>
public interface IWorkSource<T> : IAsyncDisposable
{
    /// <summary>The name of the queue or stream, for messages, metrics and dead letters. It contains no password.</summary>
    string Name { get; }

    /// <summary>What the queue or stream is in, for the attribute <c>messaging.system</c> of spans: in snake_case, such as <c>rabbitmq</c>.</summary>
    /// <value><c>weir</c>, unless the source says otherwise.</value>
    string MessagingSystem => "weir";

    /// <summary>The serializer of the queue, with which a host writes dead letters.</summary>
    /// <value><see langword="null"/> if the source does not say, as with change streams.</value>
    IWorkSerializer<T>? Serializer => null;

    /// <summary>The order in which the batches can be acknowledged.</summary>
    AcknowledgementOrder Order { get; }

    /// <summary>Where failed items can wait for their next attempt; <see langword="null"/> if the source stores none, as with change streams.</summary>
    IRedelivery<T>? Redelivery { get; }

    /// <summary>How single items of a batch are acknowledged before the batch is done; <see langword="null"/> if the source cannot.</summary>
    /// <value><see langword="null"/>, unless the source says otherwise.</value>
    IItemAcknowledgement<T>? ItemAcknowledgement => null;

    /// <summary>Waits for the next batch.</summary>
    /// <param name="cancellationToken">Ends the wait. A batch that was on its way is not lost: the next call returns it, or another consumer gets it.</param>
    /// <returns>The batch; <see langword="null"/> when the source has ended. Most sources never end.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="WorkSetupException">The source is not set up, or its setup does not match.</exception>
    ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken);

    /// <summary>Acknowledges batches: each of their items has an outcome that survives a crash.</summary>
    /// <param name="batches">
    /// Batches of this source in the order of delivery; with <see cref="AcknowledgementOrder.Delivery"/> the next ones without a gap.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The batches may be delivered again then.</param>
    /// <returns>
    /// A task that completes when the source has recorded the acknowledgement. A batch whose connection is lost is ignored; it will be delivered again.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken);

    /// <summary>Returns batches that were read but will not be processed here.</summary>
    /// <param name="batches">Batches of this source that were not acknowledged.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when other consumers can get the batches. This counts neither as an attempt nor as a crash.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken);
}

/// <summary>The items that a source delivers, and that are acknowledged, together: a message, a transaction, or some leased rows.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>Sources derive from this class to add the data that they need to acknowledge a batch. The items of a batch do not change.</remarks>
public class WorkBatch<T>
{
    /// <summary>Creates a batch.</summary>
    /// <param name="items">The items, in order. If empty, there is only a position to acknowledge.</param>
    /// <param name="position">The position of the batch in the source. Checkpoints store it, if the source has checkpoints.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public WorkBatch(IReadOnlyList<WorkItem<T>> items, string position)
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(position);
        Items = items;
        Position = position;
    }

    /// <summary>The items, in order.</summary>
    public IReadOnlyList<WorkItem<T>> Items { get; }

    /// <summary>The position of the batch in the source. The format belongs to the source; do not compare positions.</summary>
    public string Position { get; }

    /// <summary>
    /// Whether the batch may have killed a process: it was delivered before, but neither acknowledged nor returned. The host runs such a batch alone, so that
    /// another crash identifies the batch as its cause.
    /// </summary>
    public bool IsSuspect { get; init; }

    /// <summary>The number of times that a process died or disappeared while it ran this batch alone. 0 for a batch that is not suspect.</summary>
    public int Crashes { get; init; }
}

/// <summary>Stores failed items until their next attempt, so that the rest of their batch can be acknowledged.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
public interface IRedelivery<T>
{
    /// <summary>Keeps items for another attempt.</summary>
    /// <param name="batch">The batch that they were delivered in, which is acknowledged afterwards.</param>
    /// <param name="items">Some of its items, with the number of their next attempt.</param>
    /// <param name="delay">The minimum time to wait. A source with fixed delays uses the next longer one, or its longest.</param>
    /// <param name="cancellationToken">Ends the wait. The items may have been stored anyway, and may then be delivered twice.</param>
    /// <returns>A task that completes when the items are stored durably.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken);
}

/// <summary>Acknowledges single items of a batch that is not done yet, so that a crash does not repeat them.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
public interface IItemAcknowledgement<T>
{
    /// <summary>How long items that are done wait for the rest of their batch at most: a host calls it this often while there are such items.</summary>
    /// <value>More than zero, and at most 49 days.</value>
    TimeSpan Interval { get; }

    /// <summary>Acknowledges items: each has an outcome that survives a crash. The rest of their batches is acknowledged later, with the batches.</summary>
    /// <param name="items">Items of batches that are neither acknowledged nor returned. It may have been called for some of them before.</param>
    /// <param name="cancellationToken">Ends the wait. The items may be delivered again then.</param>
    /// <returns>
    /// Whether all of them are acknowledged now. If not, because that would cost more than it saves so early, a later call for the same items may do it, and
    /// the acknowledgement of their batch does.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<bool> AcknowledgeItemsAsync(IReadOnlyList<DoneItems<T>> items, CancellationToken cancellationToken);
}

/// <summary>Some items of a batch that are done.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <param name="Batch">The batch.</param>
/// <param name="Places">Where they are in <see cref="WorkBatch{T}.Items"/>, from 0, each once, in any order.</param>
public readonly record struct DoneItems<T>(WorkBatch<T> Batch, IReadOnlyList<int> Places);

/// <summary>The order in which the batches of a source can be acknowledged.</summary>
public enum AcknowledgementOrder
{
    /// <summary>Only in the order of delivery. An acknowledged position means that everything before it is also done.</summary>
    Delivery,

    /// <summary>In any order, each batch independently.</summary>
    Any,
}
