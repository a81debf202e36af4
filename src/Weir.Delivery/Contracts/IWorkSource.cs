namespace Weir.Delivery;

/// <summary>Where work comes from: the consuming end of a queue, or a change stream.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// <para>
/// A batch that was read and not acknowledged is delivered again, to this consumer or another one: at the latest when this one has been disposed or has
/// died. So an item is delivered at least once.
/// </para>
/// <para>
/// One caller at a time reads. Acknowledging, redelivering and returning can go on meanwhile, from any thread. A source keeps its own connection alive: a
/// call that has failed may be repeated; a <see cref="WorkSetupException"/> says that repeating is of no use.
/// </para>
/// <para>A source holds a bounded number of batches that nobody has read yet.</para>
/// </remarks>
public interface IWorkSource<T> : IAsyncDisposable
{
    /// <summary>The name of the queue or stream, for messages, metrics and dead letters. It contains no password.</summary>
    string Name { get; }

    /// <summary>In which order the batches can be acknowledged.</summary>
    AcknowledgementOrder Order { get; }

    /// <summary>Where failed items can wait for their next attempt; <see langword="null"/> if the source keeps none, as change streams do.</summary>
    IRedelivery<T>? Redelivery { get; }

    /// <summary>Waits for the next batch.</summary>
    /// <param name="cancellationToken">Ends the wait. A batch that was on its way is not lost: it is delivered by the next call, or to somebody else.</param>
    /// <returns>The batch; <see langword="null"/> when the source has come to its end, which most never do.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="WorkSetupException">The source is not set up, or not as the caller wants it.</exception>
    ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken);

    /// <summary>Says that batches are done: each of their items has an outcome that survives a crash.</summary>
    /// <param name="batches">
    /// Batches of this source in the order of delivery; with <see cref="AcknowledgementOrder.Delivery"/> the next ones without a gap.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The batches may be delivered again then.</param>
    /// <returns>A task that completes when the source knows. A batch whose connection is gone is ignored: it will be delivered again.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken);

    /// <summary>Gives batches back that were read and will not be processed here.</summary>
    /// <param name="batches">Batches of this source that were not acknowledged.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when others can have them. This does not count as an attempt, nor as a crash.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken);
}
