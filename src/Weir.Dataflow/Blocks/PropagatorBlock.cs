using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;

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

    private protected override void End(Exception? exception) => Input.Complete(exception, drop: exception is not null);

    private protected sealed override void Show(BlockView view)
    {
        base.Show(view);
        Input.Show(view);
    }
}
