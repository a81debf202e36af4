using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow;

/// <summary>A block that takes one message and hands out copies of it for ever.</summary>
/// <typeparam name="T">The message.</typeparam>
/// <remarks>All members are thread-safe.</remarks>
public sealed class WriteOnceBlock<T> : SourceBlock<T>, IPropagatorBlock<T, T>
{
    private readonly WriteOnceCore<T> _core;

    /// <summary>A block with default options.</summary>
    /// <param name="cloningFunction">Makes the copy that a receiver gets; null hands out the message itself.</param>
    public WriteOnceBlock(Func<T, T>? cloningFunction)
        : this(cloningFunction, BlockOptions.None())
    {
    }

    /// <summary>A block with these options.</summary>
    /// <param name="cloningFunction">Makes the copy that a receiver gets; null hands out the message itself.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    public WriteOnceBlock(Func<T, T>? cloningFunction, DataflowBlockOptions dataflowBlockOptions)
        : this(cloningFunction, BlockOptions.Of(dataflowBlockOptions))
    {
    }

    private WriteOnceBlock(Func<T, T>? cloningFunction, BlockOptions options) => _core = new WriteOnceCore<T>(this, cloningFunction, options);

    /// <summary>Gives the block a message if it takes it now.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it is full or declines for good.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool Post(T item) => _core.Post(item);

    /// <summary>Gives the block a message.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it declines for good.</returns>
    /// <remarks>Thread-safe. Messages of pending sends are taken in the order of the calls.</remarks>
    public Task<bool> SendAsync(T item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="SendAsync(T)"/>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(T item, CancellationToken cancellationToken) =>
        cancellationToken.IsCancellationRequested ? Task.FromCanceled<bool>(cancellationToken) : Task.FromResult(_core.Post(item));

    /// <summary>As SendAsync, without allocating anything.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <returns>Whether the block took it. To be awaited once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public ValueTask<bool> SendValueAsync(T item, CancellationToken cancellationToken = default) =>
        cancellationToken.IsCancellationRequested ? ValueTask.FromCanceled<bool>(cancellationToken) : new ValueTask<bool>(_core.Post(item));

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<T>.OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        _core.Offer(messageHeader, messageValue, source, consumeToAccept);

    /// <inheritdoc/>
    public override bool TryReceive([MaybeNullWhen(false)] out T item) => _core.TryReceive(out item);

    /// <inheritdoc/>
    public override ValueTask<T> ReceiveValueAsync(CancellationToken cancellationToken = default) =>
        Receiving.ReceiveValueAsync(_core, cancellationToken);

    private protected override IReceiveSource<T> Output => _core;

    private protected override IOfferSource<T> Offers => _core;

    private protected override BlockOptions Options => _core.Options;

    private protected override void End(Exception? exception) => _core.Complete(exception);
}
