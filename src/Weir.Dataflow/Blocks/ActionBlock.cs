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
        : this(action, BlockOptions.NoneOfExecution)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="action">What to do with each message.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Action<TInput> action, ExecutionDataflowBlockOptions dataflowBlockOptions)
    {
        ArgumentNullException.ThrowIfNull(action);
        _core = new ActionCore<TInput>(this, action, null, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <summary>Creates a block with default options.</summary>
    /// <param name="action">What to do with each message. A message is done when its task has completed; a null task counts as completed.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Func<TInput, Task> action)
        : this(action, BlockOptions.NoneOfExecution)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="action">What to do with each message. A message is done when its task has completed; a null task counts as completed.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public ActionBlock(Func<TInput, Task> action, ExecutionDataflowBlockOptions dataflowBlockOptions)
    {
        ArgumentNullException.ThrowIfNull(action);
        _core = new ActionCore<TInput>(this, null, action, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <summary>The number of messages that wait to be processed.</summary>
    public int InputCount => _core.InputCount;

    private string DebuggerDisplay => new BlockView(this).ToString();

    /// <inheritdoc/>
    public Task Completion => _core.Completion;

    /// <inheritdoc/>
    public void Complete() => _core.Complete(null, discard: false);

    /// <inheritdoc/>
    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        _core.Complete(exception, discard: true);
    }

    /// <inheritdoc cref="PropagatorBlock{TInput,TOutput}.Post"/>
    public bool Post(TInput item) => _core.Post(item);

    /// <inheritdoc cref="PropagatorBlock{TInput,TOutput}.SendAsync(TInput)"/>
    public Task<bool> SendAsync(TInput item) => SendAsync(item, CancellationToken.None);

    /// <inheritdoc cref="PropagatorBlock{TInput,TOutput}.SendAsync(TInput, CancellationToken)"/>
    public Task<bool> SendAsync(TInput item, CancellationToken cancellationToken) => _core.SendAsync(item, cancellationToken);

    /// <inheritdoc cref="PropagatorBlock{TInput,TOutput}.SendValueAsync"/>
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
