using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;

namespace Weir.Dataflow;

/// <summary>The members that all blocks with an input and an output have.</summary>
/// <typeparam name="TInput">The messages that go in.</typeparam>
/// <typeparam name="TOutput">The messages that come out.</typeparam>
/// <remarks>All members are thread-safe. Only the blocks of this library derive from this class.</remarks>
public abstract class PropagatorBlock<TInput, TOutput> : SourceBlock<TOutput>, IPropagatorBlock<TInput, TOutput>, ICoreTarget<TInput>
{
    private protected PropagatorBlock()
    {
    }

    /// <summary>The input side.</summary>
    private protected abstract TargetCore<TInput> Input { get; }

    private protected sealed override BlockOptions Options => Input.Options;

    /// <summary>Gives the block a message if it takes it now.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it is full or declines for good.</returns>
    /// <remarks>Thread-safe.</remarks>
    public abstract bool Post(TInput item);

    /// <summary>Gives the block a message, waiting for room if it is full.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it declines for good.</returns>
    /// <remarks>Thread-safe. Messages of pending sends are taken in the order of the calls.</remarks>
    public Task<bool> SendAsync(TInput item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="SendAsync(TInput)"/>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(TInput item, CancellationToken cancellationToken) => Input.SendAsync(item, cancellationToken);

    /// <summary>As SendAsync, without allocating anything also when it has to wait.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <returns>Whether the block took it. To be awaited once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public ValueTask<bool> SendValueAsync(TInput item, CancellationToken cancellationToken = default) => Input.SendValueAsync(item, cancellationToken);

    DirectTarget<TInput> ICoreTarget<TInput>.Core => Input;

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<TInput>.OfferMessage(
        DataflowMessageHeader messageHeader, TInput messageValue, ISourceBlock<TInput>? source, bool consumeToAccept) =>
        Input.Offer(messageHeader, messageValue, source, consumeToAccept);

    private protected override void End(Exception? exception) => Input.Complete(exception, drop: exception is not null);

    private protected sealed override void Show(BlockView view)
    {
        base.Show(view);
        Input.Show(view);
    }
}
