using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;

namespace Weir.Dataflow;

/// <summary>A block that calls a delegate for every message. It ends a network.</summary>
/// <typeparam name="TInput">The type of the messages.</typeparam>
/// <remarks>All members are thread-safe. The delegate runs on the options' scheduler, at most MaxDegreeOfParallelism calls at a time.</remarks>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
[DebuggerTypeProxy(typeof(BlockView))]
public sealed class ActionBlock<TInput> : ITargetBlock<TInput>, ICoreTarget<TInput>, IViewable
{
    private readonly ActionCore<TInput> _core;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="action">What to do with each message.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Action<TInput> action)
        : this(action, BlockOptions.None())
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="action">What to do with each message.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Action<TInput> action, ExecutionDataflowBlockOptions dataflowBlockOptions)
        : this(action, BlockOptions.Of(dataflowBlockOptions, action))
    {
    }

    /// <summary>Creates a block with default options.</summary>
    /// <param name="action">What to do with each message. A message is done when its task has completed; a null task counts as completed.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Func<TInput, Task> action)
        : this(action, BlockOptions.None())
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="action">What to do with each message. A message is done when its task has completed; a null task counts as completed.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Func<TInput, Task> action, ExecutionDataflowBlockOptions dataflowBlockOptions)
        : this(action, BlockOptions.Of(dataflowBlockOptions, action))
    {
    }

    private ActionBlock(Action<TInput> action, BlockOptions options)
    {
        ArgumentNullException.ThrowIfNull(action);
        _core = new ActionCore<TInput>(this, action, null, options);
    }

    private ActionBlock(Func<TInput, Task> action, BlockOptions options)
    {
        ArgumentNullException.ThrowIfNull(action);
        _core = new ActionCore<TInput>(this, null, action, options);
    }

    /// <summary>The number of messages that wait to be processed.</summary>
    public int InputCount => _core.InputCount;

    private string DebuggerDisplay => new BlockView(this).ToString();

    /// <inheritdoc/>
    public Task Completion => _core.Completion;

    /// <inheritdoc/>
    public void Complete() => _core.Complete(null, drop: false);

    /// <inheritdoc/>
    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        _core.Complete(exception, drop: true);
    }

    /// <summary>Sends the block a message if it can take it at once.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False if the block is full or declines permanently.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool Post(TInput item) => _core.Post(item);

    /// <summary>Sends the block a message, and waits for room if the block is full.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False if the block declines permanently.</returns>
    /// <remarks>Thread-safe. Messages of pending sends are taken in the order of the calls.</remarks>
    public Task<bool> SendAsync(TInput item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="SendAsync(TInput)"/>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Cancels the wait; the message is then not taken.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(TInput item, CancellationToken cancellationToken) => _core.SendAsync(item, cancellationToken);

    /// <summary>Works like SendAsync, but allocates nothing even if it has to wait.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Cancels the wait; the message is then not taken.</param>
    /// <returns>Whether the block took it. Await it only once.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public ValueTask<bool> SendValueAsync(TInput item, CancellationToken cancellationToken = default) => _core.SendValueAsync(item, cancellationToken);

    DirectTarget<TInput> ICoreTarget<TInput>.Core => _core;

    void IViewable.Show(BlockView view) => _core.Show(view);

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<TInput>.OfferMessage(
        DataflowMessageHeader messageHeader, TInput messageValue, ISourceBlock<TInput>? source, bool consumeToAccept) =>
        _core.Offer(messageHeader, messageValue, source, consumeToAccept);

    /// <inheritdoc/>
    public override string ToString() => _core.Options.Name(this);
}
