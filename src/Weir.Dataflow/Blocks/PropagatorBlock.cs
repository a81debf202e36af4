using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>The members shared by all blocks with an input and an output.</summary>
/// <typeparam name="TInput">The type of the input messages.</typeparam>
/// <typeparam name="TOutput">The type of the output messages.</typeparam>
/// <remarks>All members are thread-safe. Only the blocks of this library derive from this class.</remarks>
public abstract class PropagatorBlock<TInput, TOutput> : SourceBlock<TOutput>, IPropagatorBlock<TInput, TOutput>, ICoreTarget<TInput>
{
    private protected PropagatorBlock()
    {
    }

    /// <summary>The input side.</summary>
    private protected abstract TargetCore<TInput> Input { get; }

    private protected sealed override BlockOptions Options => Input.Options;

    /// <summary>Sends the block a message if it can take it at once.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False if the block is full or declines permanently.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool Post(TInput item) => Input.Post(item);

    /// <summary>Sends the block a message, and waits for room if the block is full.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False if the block declines permanently.</returns>
    /// <remarks>Thread-safe. Messages of pending sends are taken in the order of the calls.</remarks>
    public Task<bool> SendAsync(TInput item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="SendAsync(TInput)"/>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Cancels the wait; the message is then not taken.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(TInput item, CancellationToken cancellationToken) => Input.SendAsync(item, cancellationToken);

    /// <summary>Works like SendAsync, but allocates nothing even if it has to wait.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Cancels the wait; the message is then not taken.</param>
    /// <returns>Whether the block took it. Await it only once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public ValueTask<bool> SendValueAsync(TInput item, CancellationToken cancellationToken = default) => Input.SendValueAsync(item, cancellationToken);

    DirectTarget<TInput> ICoreTarget<TInput>.Core => Input;

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<TInput>.OfferMessage(
        DataflowMessageHeader messageHeader, TInput messageValue, ISourceBlock<TInput>? source, bool consumeToAccept) =>
        Input.Offer(messageHeader, messageValue, source, consumeToAccept);

    private protected override void End(Exception? exception) => Input.Complete(exception, discard: exception is not null);

    private protected sealed override void Show(BlockView view)
    {
        base.Show(view);
        Input.Show(view);
    }
}

/// <summary>The members shared by all blocks with an output.</summary>
/// <typeparam name="TOutput">The type of the output messages.</typeparam>
/// <remarks>All members are thread-safe. Only the blocks of this library derive from this class.</remarks>
// It holds no field: each block has its core in a field of the core's own type, and overrides the accessors below. So a block is no larger than it would be
// alone.
[DebuggerDisplay("{DebuggerDisplay,nq}")]
[DebuggerTypeProxy(typeof(BlockView))]
public abstract class SourceBlock<TOutput> : IReceivableSourceBlock<TOutput>, IViewable
{
    private protected SourceBlock()
    {
    }

    /// <inheritdoc/>
    public Task Completion => Output.Completion;

    /// <summary>The output side, for those who receive.</summary>
    private protected abstract ReceiveSource<TOutput> Output { get; }

    /// <summary>The output side, for targets.</summary>
    private protected abstract IOfferSource<TOutput> Offers { get; }

    private protected abstract BlockOptions Options { get; }

    private string DebuggerDisplay => new BlockView(this).ToString();

    /// <inheritdoc/>
    public void Complete() => End(null);

    /// <inheritdoc/>
    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        End(exception);
    }

    void IViewable.Show(BlockView view) => Show(view);

    /// <summary>Links this block to a target, which is offered every message that no earlier link takes.</summary>
    /// <param name="target">The target.</param>
    /// <returns>The link; dispose of it to end it.</returns>
    /// <exception cref="ArgumentNullException">The target is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<TOutput> target) => LinkTo(target, LinkDefaults.Options);

    /// <inheritdoc/>
    [OverloadResolutionPriority(1)]
    public IDisposable LinkTo(ITargetBlock<TOutput> target, DataflowLinkOptions linkOptions) => Offers.LinkTo(target, linkOptions);

    /// <summary>Links this block to a target for the messages that satisfy a predicate.</summary>
    /// <param name="target">The target.</param>
    /// <param name="predicate">Is called for every offer, on the thread that offers.</param>
    /// <returns>The link; dispose of it to end it.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<TOutput> target, Predicate<TOutput> predicate) => LinkTo(target, LinkDefaults.Options, predicate);

    /// <summary>Links this block to a target for the messages that satisfy a predicate.</summary>
    /// <param name="target">The target.</param>
    /// <param name="linkOptions">The options of the link.</param>
    /// <param name="predicate">Is called for every offer, on the thread that offers.</param>
    /// <returns>The link; dispose of it to end it.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Thread-safe.</remarks>
    public IDisposable LinkTo(ITargetBlock<TOutput> target, DataflowLinkOptions linkOptions, Predicate<TOutput> predicate) =>
        LinkTo(LinkDefaults.Filter(this, target, linkOptions, predicate), linkOptions);

    /// <summary>Takes a message if there is one.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether there was one.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool TryReceive([MaybeNullWhen(false)] out TOutput item) => Output.TryReceive(out item);

    /// <inheritdoc/>
    public bool TryReceive(Predicate<TOutput>? filter, [MaybeNullWhen(false)] out TOutput item) => Output.TryReceive(filter, out item);

    /// <summary>Receives all messages that the block has ready at this moment.</summary>
    /// <param name="items">The messages, in order; <see langword="null"/> if there are none.</param>
    /// <returns>Whether there was a message.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool TryReceiveAll([NotNullWhen(true)] out IList<TOutput>? items) => Output.TryReceiveAll(out items);

    /// <summary>Receives a message. Blocks the thread until there is one.</summary>
    /// <returns>The message.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call.</exception>
    /// <remarks>Thread-safe. Prefer <see cref="ReceiveAsync()"/>.</remarks>
    public TOutput Receive() => Receiving.Receive(Output, Timeout.InfiniteTimeSpan, CancellationToken.None);

    /// <inheritdoc cref="Receive()"/>
    /// <param name="cancellationToken">Cancels the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first.</exception>
    public TOutput Receive(CancellationToken cancellationToken) => Receiving.Receive(Output, Timeout.InfiniteTimeSpan, cancellationToken);

    /// <inheritdoc cref="Receive()"/>
    /// <param name="timeout">The time to wait; -1 ms means forever.</param>
    /// <exception cref="TimeoutException">The time was up first.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative, though not -1 ms, or too long.</exception>
    public TOutput Receive(TimeSpan timeout) => Receiving.Receive(Output, timeout, CancellationToken.None);

    /// <inheritdoc cref="Receive(TimeSpan)"/>
    /// <param name="timeout">The time to wait; -1 ms means forever.</param>
    /// <param name="cancellationToken">Cancels the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first.</exception>
    public TOutput Receive(TimeSpan timeout, CancellationToken cancellationToken) => Receiving.Receive(Output, timeout, cancellationToken);

    /// <summary>Receives a message, and waits until there is one.</summary>
    /// <returns>The message.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call (in the task).</exception>
    /// <remarks>Thread-safe.</remarks>
    public Task<TOutput> ReceiveAsync() => Receiving.ReceiveAsync(Output, Timeout.InfiniteTimeSpan, CancellationToken.None);

    /// <inheritdoc cref="ReceiveAsync()"/>
    /// <param name="cancellationToken">Cancels the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<TOutput> ReceiveAsync(CancellationToken cancellationToken) => Receiving.ReceiveAsync(Output, Timeout.InfiniteTimeSpan, cancellationToken);

    /// <inheritdoc cref="ReceiveAsync()"/>
    /// <param name="timeout">The time to wait; -1 ms means forever.</param>
    /// <exception cref="TimeoutException">The time was up first (in the task).</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative, though not -1 ms, or too long.</exception>
    public Task<TOutput> ReceiveAsync(TimeSpan timeout) => Receiving.ReceiveAsync(Output, timeout, CancellationToken.None);

    /// <inheritdoc cref="ReceiveAsync(TimeSpan)"/>
    /// <param name="timeout">The time to wait; -1 ms means forever.</param>
    /// <param name="cancellationToken">Cancels the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<TOutput> ReceiveAsync(TimeSpan timeout, CancellationToken cancellationToken) => Receiving.ReceiveAsync(Output, timeout, cancellationToken);

    /// <summary>Waits until there is a message to receive.</summary>
    /// <returns>Whether there is one. False if the block has completed.</returns>
    /// <remarks>Thread-safe. Another receiver may take the message first.</remarks>
    public Task<bool> OutputAvailableAsync() => Receiving.OutputAvailableAsync(Output, CancellationToken.None);

    /// <inheritdoc cref="OutputAvailableAsync()"/>
    /// <param name="cancellationToken">Cancels the wait.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public Task<bool> OutputAvailableAsync(CancellationToken cancellationToken) => Receiving.OutputAvailableAsync(Output, cancellationToken);

    /// <summary>Receives messages until the block completes.</summary>
    /// <param name="cancellationToken">Cancels the wait for the next message.</param>
    /// <returns>The messages. The sequence ends without an exception even if the block has faulted; see Completion.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled (at a step of the enumeration).</exception>
    public IAsyncEnumerable<TOutput> ReceiveAllAsync(CancellationToken cancellationToken = default) => Receiving.ReceiveAllAsync(Output, cancellationToken);

    /// <summary>Works like ReceiveAsync, but allocates nothing even if it has to wait.</summary>
    /// <param name="cancellationToken">Cancels the wait.</param>
    /// <returns>The message. Await it only once.</returns>
    /// <exception cref="InvalidOperationException">The block completed without a message for this call (in the task).</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public ValueTask<TOutput> ReceiveValueAsync(CancellationToken cancellationToken = default) => Receiving.ReceiveValueAsync(Output, cancellationToken);

    /// <summary>Works like OutputAvailableAsync, but allocates nothing even if it has to wait.</summary>
    /// <param name="cancellationToken">Cancels the wait.</param>
    /// <returns>Whether there is a message. False if the block has completed. Await it only once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled first (in the task).</exception>
    public ValueTask<bool> WaitToReceiveAsync(CancellationToken cancellationToken = default) => Receiving.WaitToReceiveAsync(Output, cancellationToken);

    /// <inheritdoc/>
    TOutput? ISourceBlock<TOutput>.ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<TOutput> target, out bool messageConsumed) =>
        Offers.Consume(messageHeader, target, out messageConsumed);

    /// <inheritdoc/>
    bool ISourceBlock<TOutput>.ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<TOutput> target) => Offers.Reserve(messageHeader, target);

    /// <inheritdoc/>
    void ISourceBlock<TOutput>.ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<TOutput> target) => Offers.Release(messageHeader, target);

    /// <inheritdoc/>
    public override string ToString() => Options.Name(this);

    /// <summary>Takes no more messages, and fails if there is an exception.</summary>
    private protected abstract void End(Exception? exception);

    /// <summary>Shows the block to a debugger.</summary>
    private protected virtual void Show(BlockView view)
    {
        view.Options = Options;
        Output.Show(view);
    }
}
