using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that collects a number of messages, on whichever of its targets they come, into one list for each target.</summary>
/// <typeparam name="T1">The messages of the first target.</typeparam>
/// <typeparam name="T2">The messages of the second target.</typeparam>
/// <typeparam name="T3">The messages of the third target.</typeparam>
/// <remarks>All members are thread-safe. Always greedy and unbounded.</remarks>
public sealed class BatchedJoinBlock<T1, T2, T3> : IReceivableSourceBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>>
{
    private readonly BatchedJoinCore<T1, T2, T3> _core;

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

    private BatchedJoinBlock(int batchSize, BlockOptions options) => _core = new BatchedJoinCore<T1, T2, T3>(this, batchSize, options);

    /// <summary>How many messages make a batch.</summary>
    public int BatchSize => _core.BatchSize;

    /// <summary>Takes the first part.</summary>
    public ITargetBlock<T1> Target1 => _core.Target1;

    /// <summary>Takes the second part.</summary>
    public ITargetBlock<T2> Target2 => _core.Target2;

    /// <summary>Takes the third part.</summary>
    public ITargetBlock<T3> Target3 => _core.Target3;

    /// <summary>How many tuples wait to be taken.</summary>
    public int OutputCount => _core.Source.Count;

    /// <inheritdoc/>
    public Task Completion => _core.Source.Completion;

    /// <inheritdoc/>
    public void Complete() => _core.Complete();

    /// <inheritdoc/>
    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        _core.Fault(exception);
    }

    /// <summary>Links this block to a target, which is offered every message that no earlier link takes.</summary>
    /// <param name="target">The target.</param>
    /// <returns>Ends the link when disposed.</returns>
    /// <exception cref="ArgumentNullException">The target is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> target) => LinkTo(target, LinkDefaults.Options);

    /// <inheritdoc/>
    [OverloadResolutionPriority(1)]
    public IDisposable LinkTo(ITargetBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> target, DataflowLinkOptions linkOptions) => _core.Source.LinkTo(target, linkOptions);

    /// <summary>Links this block to a target for the messages that satisfy a predicate.</summary>
    /// <param name="target">The target.</param>
    /// <param name="predicate">Asked on every offer, on whichever thread offers.</param>
    /// <returns>Ends the link when disposed.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> target, Predicate<Tuple<IList<T1>, IList<T2>, IList<T3>>> predicate) => LinkTo(target, LinkDefaults.Options, predicate);

    /// <summary>Links this block to a target for the messages that satisfy a predicate.</summary>
    /// <param name="target">The target.</param>
    /// <param name="linkOptions">The options of the link.</param>
    /// <param name="predicate">Asked on every offer, on whichever thread offers.</param>
    /// <returns>Ends the link when disposed.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> target, DataflowLinkOptions linkOptions, Predicate<Tuple<IList<T1>, IList<T2>, IList<T3>>> predicate) =>
        LinkTo(LinkDefaults.Filter(this, target, linkOptions, predicate), linkOptions);

    /// <summary>Takes a message if there is one.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether there was one.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool TryReceive([MaybeNullWhen(false)] out Tuple<IList<T1>, IList<T2>, IList<T3>> item) => _core.Source.TryReceive(out item);

    /// <inheritdoc/>
    public bool TryReceive(Predicate<Tuple<IList<T1>, IList<T2>, IList<T3>>>? filter, [MaybeNullWhen(false)] out Tuple<IList<T1>, IList<T2>, IList<T3>> item) => _core.Source.TryReceive(filter, out item);

    /// <inheritdoc/>
    public bool TryReceiveAll([NotNullWhen(true)] out IList<Tuple<IList<T1>, IList<T2>, IList<T3>>>? items) => _core.Source.TryReceiveAll(out items);

    /// <summary>Receives a message, waiting for one on this thread.</summary>
    /// <returns>The message.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call.</exception>
    /// <remarks>Thread-safe. Prefer <see cref="ReceiveAsync()"/>.</remarks>
    public Tuple<IList<T1>, IList<T2>, IList<T3>> Receive() => Receiving.Receive(_core.Source, Timeout.InfiniteTimeSpan, CancellationToken.None);

    /// <inheritdoc cref="Receive()"/>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first.</exception>
    public Tuple<IList<T1>, IList<T2>, IList<T3>> Receive(CancellationToken cancellationToken) => Receiving.Receive(_core.Source, Timeout.InfiniteTimeSpan, cancellationToken);

    /// <inheritdoc cref="Receive()"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <exception cref="TimeoutException">The time was up first.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative, though not -1 ms, or too long.</exception>
    public Tuple<IList<T1>, IList<T2>, IList<T3>> Receive(TimeSpan timeout) => Receiving.Receive(_core.Source, timeout, CancellationToken.None);

    /// <inheritdoc cref="Receive(TimeSpan)"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first.</exception>
    public Tuple<IList<T1>, IList<T2>, IList<T3>> Receive(TimeSpan timeout, CancellationToken cancellationToken) => Receiving.Receive(_core.Source, timeout, cancellationToken);

    /// <summary>Receives a message, waiting for one.</summary>
    /// <returns>The message.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call (in the task).</exception>
    /// <remarks>Thread-safe.</remarks>
    public Task<Tuple<IList<T1>, IList<T2>, IList<T3>>> ReceiveAsync() => Receiving.ReceiveAsync(_core.Source, Timeout.InfiniteTimeSpan, CancellationToken.None);

    /// <inheritdoc cref="ReceiveAsync()"/>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<Tuple<IList<T1>, IList<T2>, IList<T3>>> ReceiveAsync(CancellationToken cancellationToken) => Receiving.ReceiveAsync(_core.Source, Timeout.InfiniteTimeSpan, cancellationToken);

    /// <inheritdoc cref="ReceiveAsync()"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <exception cref="TimeoutException">The time was up first (in the task).</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative, though not -1 ms, or too long.</exception>
    public Task<Tuple<IList<T1>, IList<T2>, IList<T3>>> ReceiveAsync(TimeSpan timeout) => Receiving.ReceiveAsync(_core.Source, timeout, CancellationToken.None);

    /// <inheritdoc cref="ReceiveAsync(TimeSpan)"/>
    /// <param name="timeout">How long to wait; -1 ms for ever.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<Tuple<IList<T1>, IList<T2>, IList<T3>>> ReceiveAsync(TimeSpan timeout, CancellationToken cancellationToken) => Receiving.ReceiveAsync(_core.Source, timeout, cancellationToken);

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
    public IAsyncEnumerable<Tuple<IList<T1>, IList<T2>, IList<T3>>> ReceiveAllAsync(CancellationToken cancellationToken = default) => Receiving.ReceiveAllAsync(_core.Source, cancellationToken);

    /// <summary>As ReceiveAsync, without allocating anything also when it has to wait.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The message. To be awaited once.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call (in the task).</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public ValueTask<Tuple<IList<T1>, IList<T2>, IList<T3>>> ReceiveValueAsync(CancellationToken cancellationToken = default) => _core.Source.ReceiveValueAsync(cancellationToken);

    /// <summary>As OutputAvailableAsync, without allocating anything also when it has to wait.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>Whether there is a message. False when the block completed. To be awaited once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public ValueTask<bool> WaitToReceiveAsync(CancellationToken cancellationToken = default) => Receiving.WaitToReceiveAsync(_core.Source, cancellationToken);

    /// <inheritdoc/>
    Tuple<IList<T1>, IList<T2>, IList<T3>>? ISourceBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>>.ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> target, out bool messageConsumed) =>
        _core.Source.Consume(messageHeader, target, out messageConsumed);

    /// <inheritdoc/>
    bool ISourceBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>>.ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> target) => _core.Source.Reserve(messageHeader, target);

    /// <inheritdoc/>
    void ISourceBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>>.ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<Tuple<IList<T1>, IList<T2>, IList<T3>>> target) => _core.Source.Release(messageHeader, target);

    /// <inheritdoc/>
    public override string ToString() => _core.Options.Name(this);
}
