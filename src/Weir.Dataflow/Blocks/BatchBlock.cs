using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that collects messages into arrays of a fixed length.</summary>
/// <typeparam name="T">The messages.</typeparam>
/// <remarks>All members are thread-safe. The messages of a batch keep their order. BoundedCapacity counts messages, also those in batches that wait to be taken.</remarks>
public sealed class BatchBlock<T> : IPropagatorBlock<T, T[]>, IReceivableSourceBlock<T[]>, ICoreTarget<T>
{
    private readonly BatchCore<T> _core;

    /// <summary>A block with default options.</summary>
    /// <param name="batchSize">How many messages make a batch, from 1.</param>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive or greater than BoundedCapacity.</exception>
    public BatchBlock(int batchSize)
        : this(batchSize, BlockOptions.None(), null, null)
    {
    }

    /// <summary>A block with these options.</summary>
    /// <param name="batchSize">How many messages make a batch, from 1.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive or greater than BoundedCapacity.</exception>
    public BatchBlock(int batchSize, GroupingDataflowBlockOptions dataflowBlockOptions)
        : this(batchSize, BlockOptions.Of(dataflowBlockOptions), null, null)
    {
    }

    /// <summary>A block that also hands out a batch that is not full when its first message has waited for some time.</summary>
    /// <param name="batchSize">How many messages make a batch, from 1.</param>
    /// <param name="flushAfter">
    /// How long the first message of a batch waits at most, in a source if the block is not greedy; positive and at most 4294967294 ms (49.7 days).
    /// </param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The batch size is not positive or greater than BoundedCapacity, or the time is out of its range.</exception>
    public BatchBlock(int batchSize, TimeSpan flushAfter, TimeProvider timeProvider, GroupingDataflowBlockOptions dataflowBlockOptions)
        : this(batchSize, BlockOptions.Of(dataflowBlockOptions), flushAfter, timeProvider ?? throw new ArgumentNullException(nameof(timeProvider)))
    {
    }

    private BatchBlock(int batchSize, BlockOptions options, TimeSpan? flushAfter, TimeProvider? timeProvider) =>
        _core = new BatchCore<T>(this, batchSize, options, flushAfter, timeProvider);

    /// <summary>How many messages make a batch.</summary>
    public int BatchSize => _core.BatchSize;

    /// <summary>How many batches wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    /// <summary>Makes a batch of what there is, if there is anything, without waiting for it to be full.</summary>
    /// <remarks>Thread-safe.</remarks>
    public void TriggerBatch() => _core.Trigger();

    /// <inheritdoc/>
    public Task Completion => _core.Source.Completion;

    /// <inheritdoc/>
    public void Complete() => _core.Complete(null, drop: false);

    /// <inheritdoc/>
    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        _core.Complete(exception, drop: true);
    }

    /// <summary>Gives the block a message if it takes it now.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it is full or declines for good.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool Post(T item) => _core.Post(item);

    /// <summary>Gives the block a message, waiting for room if it is full.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it declines for good.</returns>
    /// <remarks>Thread-safe. Messages of pending sends are taken in the order of the calls.</remarks>
    public Task<bool> SendAsync(T item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="SendAsync(T)"/>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(T item, CancellationToken cancellationToken) => _core.Options.Greedy ? _core.SendAsync(item, cancellationToken) : DataflowBlock.SendAsync(this, item, cancellationToken);

    /// <summary>As SendAsync, without allocating anything also when it has to wait.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <returns>Whether the block took it. To be awaited once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public ValueTask<bool> SendValueAsync(T item, CancellationToken cancellationToken = default) => _core.Options.Greedy ? _core.SendValueAsync(item, cancellationToken) : new(DataflowBlock.SendAsync(this, item, cancellationToken));

    DirectTarget<T> ICoreTarget<T>.Core => _core;

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<T>.OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        _core.Offer(messageHeader, messageValue, source, consumeToAccept);

    /// <summary>Links this block to a target, which is offered every message that no earlier link takes.</summary>
    /// <param name="target">The target.</param>
    /// <returns>Ends the link when disposed.</returns>
    /// <exception cref="ArgumentNullException">The target is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<T[]> target) => LinkTo(target, LinkDefaults.Options);

    /// <inheritdoc/>
    [OverloadResolutionPriority(1)]
    public IDisposable LinkTo(ITargetBlock<T[]> target, DataflowLinkOptions linkOptions) => _core.Source.LinkTo(target, linkOptions);

    /// <summary>Links this block to a target for the messages that satisfy a predicate.</summary>
    /// <param name="target">The target.</param>
    /// <param name="predicate">Asked on every offer, on whichever thread offers.</param>
    /// <returns>Ends the link when disposed.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<T[]> target, Predicate<T[]> predicate) => LinkTo(target, LinkDefaults.Options, predicate);

    /// <summary>Links this block to a target for the messages that satisfy a predicate.</summary>
    /// <param name="target">The target.</param>
    /// <param name="linkOptions">The options of the link.</param>
    /// <param name="predicate">Asked on every offer, on whichever thread offers.</param>
    /// <returns>Ends the link when disposed.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<T[]> target, DataflowLinkOptions linkOptions, Predicate<T[]> predicate) =>
        LinkTo(LinkDefaults.Filter(this, target, linkOptions, predicate), linkOptions);

    /// <summary>Takes a message if there is one.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether there was one.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool TryReceive([MaybeNullWhen(false)] out T[] item) => _core.Source.TryReceive(out item);

    /// <inheritdoc/>
    public bool TryReceive(Predicate<T[]>? filter, [MaybeNullWhen(false)] out T[] item) => _core.Source.TryReceive(filter, out item);

    /// <inheritdoc/>
    public bool TryReceiveAll([NotNullWhen(true)] out IList<T[]>? items) => _core.Source.TryReceiveAll(out items);

    /// <summary>Receives a message, waiting for one on this thread.</summary>
    /// <returns>The message.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call.</exception>
    /// <remarks>Thread-safe. Prefer <see cref="ReceiveAsync()"/>.</remarks>
    public T[] Receive() => Receiving.Receive(_core.Source, Timeout.InfiniteTimeSpan, CancellationToken.None);

    /// <inheritdoc cref="Receive()"/>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first.</exception>
    public T[] Receive(CancellationToken cancellationToken) => Receiving.Receive(_core.Source, Timeout.InfiniteTimeSpan, cancellationToken);

    /// <inheritdoc cref="Receive()"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <exception cref="TimeoutException">The time was up first.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative, though not -1 ms, or too long.</exception>
    public T[] Receive(TimeSpan timeout) => Receiving.Receive(_core.Source, timeout, CancellationToken.None);

    /// <inheritdoc cref="Receive(TimeSpan)"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first.</exception>
    public T[] Receive(TimeSpan timeout, CancellationToken cancellationToken) => Receiving.Receive(_core.Source, timeout, cancellationToken);

    /// <summary>Receives a message, waiting for one.</summary>
    /// <returns>The message.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call (in the task).</exception>
    /// <remarks>Thread-safe.</remarks>
    public Task<T[]> ReceiveAsync() => Receiving.ReceiveAsync(_core.Source, Timeout.InfiniteTimeSpan, CancellationToken.None);

    /// <inheritdoc cref="ReceiveAsync()"/>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<T[]> ReceiveAsync(CancellationToken cancellationToken) => Receiving.ReceiveAsync(_core.Source, Timeout.InfiniteTimeSpan, cancellationToken);

    /// <inheritdoc cref="ReceiveAsync()"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <exception cref="TimeoutException">The time was up first (in the task).</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative, though not -1 ms, or too long.</exception>
    public Task<T[]> ReceiveAsync(TimeSpan timeout) => Receiving.ReceiveAsync(_core.Source, timeout, CancellationToken.None);

    /// <inheritdoc cref="ReceiveAsync(TimeSpan)"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<T[]> ReceiveAsync(TimeSpan timeout, CancellationToken cancellationToken) => Receiving.ReceiveAsync(_core.Source, timeout, cancellationToken);

    /// <summary>Tells when there is a message to receive.</summary>
    /// <returns>Whether there is one. False when the block completed.</returns>
    /// <remarks>Thread-safe. Another receiver may be faster.</remarks>
    public Task<bool> OutputAvailableAsync() => Receiving.OutputAvailableAsync(_core.Source, CancellationToken.None);

    /// <inheritdoc cref="OutputAvailableAsync()"/>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<bool> OutputAvailableAsync(CancellationToken cancellationToken) => Receiving.OutputAvailableAsync(_core.Source, cancellationToken);

    /// <summary>Receives messages until the block completes.</summary>
    /// <param name="cancellationToken">Ends the wait for the next message.</param>
    /// <returns>The messages. Ends without an exception also when the block failed: see Completion.</returns>
    public IAsyncEnumerable<T[]> ReceiveAllAsync(CancellationToken cancellationToken = default) => Receiving.ReceiveAllAsync(_core.Source, cancellationToken);

    /// <summary>As ReceiveAsync, without allocating anything also when it has to wait.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The message. To be awaited once.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call (in the task).</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public ValueTask<T[]> ReceiveValueAsync(CancellationToken cancellationToken = default) => _core.Source.ReceiveValueAsync(cancellationToken);

    /// <summary>As OutputAvailableAsync, without allocating anything also when it has to wait.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>Whether there is a message. False when the block completed. To be awaited once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public ValueTask<bool> WaitToReceiveAsync(CancellationToken cancellationToken = default) => Receiving.WaitToReceiveAsync(_core.Source, cancellationToken);

    /// <inheritdoc/>
    T[]? ISourceBlock<T[]>.ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<T[]> target, out bool messageConsumed) =>
        _core.Source.Consume(messageHeader, target, out messageConsumed);

    /// <inheritdoc/>
    bool ISourceBlock<T[]>.ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<T[]> target) => _core.Source.Reserve(messageHeader, target);

    /// <inheritdoc/>
    void ISourceBlock<T[]>.ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<T[]> target) => _core.Source.Release(messageHeader, target);

    /// <inheritdoc/>
    public override string ToString() => _core.Options.Name(this);
}
