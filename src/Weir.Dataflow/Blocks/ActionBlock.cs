using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;

namespace Weir.Dataflow;

/// <summary>A block that calls a delegate for every message. The end of a network.</summary>
/// <typeparam name="TInput">The messages.</typeparam>
/// <remarks>All members are thread-safe. The delegate runs on the options' scheduler, at most MaxDegreeOfParallelism calls at a time.</remarks>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
[DebuggerTypeProxy(typeof(BlockView))]
public sealed class ActionBlock<TInput> : ITargetBlock<TInput>, ICoreTarget<TInput>, IViewable
{
    private readonly ActionCore<TInput> _core;

    /// <summary>A block with default options.</summary>
    /// <param name="action">What to do with each message.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Action<TInput> action)
        : this(action, BlockOptions.None())
    {
    }

    /// <summary>A block with these options.</summary>
    /// <param name="action">What to do with each message.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Action<TInput> action, ExecutionDataflowBlockOptions dataflowBlockOptions)
        : this(action, BlockOptions.Of(dataflowBlockOptions, action))
    {
    }

    /// <summary>A block with default options.</summary>
    /// <param name="action">What to do with each message. A message is done when its task is; a null task counts as done.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Func<TInput, Task> action)
        : this(action, BlockOptions.None())
    {
    }

    /// <summary>A block with these options.</summary>
    /// <param name="action">What to do with each message. A message is done when its task is; a null task counts as done.</param>
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

    /// <summary>How many messages wait to be processed.</summary>
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

    /// <summary>Gives the block a message if it takes it now.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it is full or declines for good.</returns>
    /// <remarks>Thread-safe.</remarks>
    public bool Post(TInput item) => _core.Post(item);

    /// <summary>Gives the block a message, waiting for room if it is full.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it. False when it declines for good.</returns>
    /// <remarks>Thread-safe. Messages of pending sends are taken in the order of the calls.</remarks>
    public Task<bool> SendAsync(TInput item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="SendAsync(TInput)"/>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(TInput item, CancellationToken cancellationToken) => _core.SendAsync(item, cancellationToken);

    /// <summary>As SendAsync, without allocating anything also when it has to wait.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <returns>Whether the block took it. To be awaited once.</returns>
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
