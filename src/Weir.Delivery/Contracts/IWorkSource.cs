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
