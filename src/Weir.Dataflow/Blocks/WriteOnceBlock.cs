using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that takes one message and gives copies of it to all receivers.</summary>
/// <typeparam name="T">The type of the message.</typeparam>
/// <remarks>All members are thread-safe.</remarks>
public sealed class WriteOnceBlock<T> : SourceBlock<T>, IPropagatorBlock<T, T>
{
    private readonly WriteOnceCore<T> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="cloningFunction">Makes the copy for each receiver; if null, receivers get the message itself.</param>
    public WriteOnceBlock(Func<T, T>? cloningFunction)
        : this(cloningFunction, BlockOptions.None)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="cloningFunction">Makes the copy for each receiver; if null, receivers get the message itself.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    public WriteOnceBlock(Func<T, T>? cloningFunction, DataflowBlockOptions dataflowBlockOptions) =>
        _core = new WriteOnceCore<T>(this, cloningFunction, BlockOptions.Of(dataflowBlockOptions));

    /// <inheritdoc cref="PropagatorBlock{TInput,TOutput}.Post"/>
    public bool Post(T item) => _core.Post(item);

    /// <summary>Sends the block a message.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False if the block declines permanently.</returns>
    /// <remarks>Thread-safe. Messages of pending sends are taken in the order of the calls.</remarks>
    public Task<bool> SendAsync(T item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="SendAsync(T)"/>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Cancels the wait; the message is then not taken.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(T item, CancellationToken cancellationToken) =>
        cancellationToken.IsCancellationRequested ? Task.FromCanceled<bool>(cancellationToken) : Task.FromResult(_core.Post(item));

    /// <summary>Works like SendAsync, but allocates nothing.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Cancels the wait; the message is then not taken.</param>
    /// <returns>Whether the block took it. Await it only once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public ValueTask<bool> SendValueAsync(T item, CancellationToken cancellationToken = default) =>
        cancellationToken.IsCancellationRequested ? ValueTask.FromCanceled<bool>(cancellationToken) : new ValueTask<bool>(_core.Post(item));

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<T>.OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        _core.Offer(messageHeader, messageValue, source, consumeToAccept);

    private protected override ReceiveSource<T> Output => _core;

    private protected override IOfferSource<T> Offers => _core;

    private protected override BlockOptions Options => _core.Options;

    private protected override void End(Exception? exception) => _core.Complete(exception);
}
