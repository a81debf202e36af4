using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;

namespace Weir.Dataflow;

/// <summary>
/// A block that gives a copy of every message to every link, and waits for links that are full: unlike a BroadcastBlock, it has back-pressure.
/// </summary>
/// <typeparam name="T">The type of the messages.</typeparam>
/// <remarks>
/// All members are thread-safe. A message is done when every target that was linked at its turn has taken it or declined it permanently; the next one starts
/// then. Without a link, messages are discarded, as by a BroadcastBlock. BoundedCapacity counts the messages that are not done.
/// </remarks>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
[DebuggerTypeProxy(typeof(BlockView))]
public sealed class ReliableBroadcastBlock<T> : ITargetBlock<T>, IReliableSource, IViewable
{
    private readonly Lock _lock = new();
    private readonly Func<T, T>? _clone;
    private readonly ActionCore<T> _core;

    /// <summary>Replaced under the lock, and never changed, so readers need no lock.</summary>
    private volatile Link[] _links = [];
    private bool _propagates;

    /// <summary>Creates a block with default options.</summary>
    /// <param name="cloningFunction">Makes the copy for each target; if null, targets get the message itself.</param>
    public ReliableBroadcastBlock(Func<T, T>? cloningFunction)
        : this(cloningFunction, BlockOptions.None)
    {
    }

    /// <summary>Creates a block with the given options.</summary>
    /// <param name="cloningFunction">Makes the copy for each target; if null, targets get the message itself.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    public ReliableBroadcastBlock(Func<T, T>? cloningFunction, DataflowBlockOptions dataflowBlockOptions)
    {
        _clone = cloningFunction;
        _core = new ActionCore<T>(this, null, PublishAsync, BlockOptions.Of(dataflowBlockOptions));
    }

    private string DebuggerDisplay => new BlockView(this).ToString();

    /// <inheritdoc/>
    public Task Completion => _core.Completion;

    /// <summary>Links this block to a target.</summary>
    /// <param name="target">The target.</param>
    /// <param name="propagateCompletion">Whether the target completes or faults with this block.</param>
    /// <returns>The link; dispose of it to end it. A message that is being delivered may still arrive.</returns>
    /// <exception cref="ArgumentNullException">The target is null.</exception>
    public IDisposable LinkTo(ITargetBlock<T> target, bool propagateCompletion = false)
    {
        ArgumentNullException.ThrowIfNull(target);
        Link link = new(target, propagateCompletion);
        bool first;
        lock (_lock)
        {
            _links = [.. _links, link];
            first = propagateCompletion && !_propagates;
            _propagates |= propagateCompletion;
        }

        if (Completion.IsCompleted)
        {
            if (Unlink(link) && propagateCompletion)
            {
                Protocol.PropagateOnceComplete(Completion, target);
            }

            return Unlinker.Nothing;
        }

        if (first)
        {
            Completion.ContinueWith(
                static (_, block) => ((ReliableBroadcastBlock<T>)block!).PropagateEnd(),
                this,
                CancellationToken.None,
                TaskContinuationOptions.ExecuteSynchronously | TaskContinuationOptions.DenyChildAttach,
                TaskScheduler.Default);
        }

        return new Unlinker(this, target, () => Unlink(link));
    }

    /// <summary>Sends the block a message if it can take it at once.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it.</returns>
    public bool Post(T item) => _core.Post(item);

    /// <summary>Sends the block a message, and waits for room if the block is full.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Cancels the wait; the message is then not taken.</param>
    /// <returns>Whether the block took it. False if the block declines permanently.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(T item, CancellationToken cancellationToken = default) => _core.SendAsync(item, cancellationToken);

    /// <inheritdoc/>
    public void Complete() => _core.Complete(null, discard: false);

    /// <inheritdoc/>
    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        _core.Complete(exception, discard: true);
    }

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<T>.OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        _core.Offer(messageHeader, messageValue, source, consumeToAccept);

    object[] IReliableSource.LinkedNow => [.. _links.Select(static link => link.Target)];

    void IViewable.Show(BlockView view)
    {
        _core.Show(view);
        view.LinkedTargets = ((IReliableSource)this).LinkedNow;
    }

    /// <inheritdoc/>
    public override string ToString() => _core.Options.Name(this);

    private async Task PublishAsync(T item)
    {
        Link[] links = _links;
        Task<bool>[] sends = new Task<bool>[links.Length];
        for (int i = 0; i < links.Length; i++)
        {
            sends[i] = links[i].Target.SendAsync(_clone is null ? item : _clone(item), _core.Options.Token);
        }

        for (int i = 0; i < sends.Length; i++)
        {
            if (!await sends[i].ConfigureAwait(false))
            {
                Unlink(links[i]);
            }
        }
    }

    /// <summary>The block is complete: those that are still linked learn of it, if their link says so.</summary>
    private void PropagateEnd()
    {
        Link[] links;
        lock (_lock)
        {
            links = _links;
            _links = [];
        }

        foreach (Link link in links)
        {
            if (link.Propagates)
            {
                Protocol.Propagate(Completion, link.Target);
            }
        }
    }

    private bool Unlink(Link link)
    {
        lock (_lock)
        {
            Link[] links = _links;
            _links = [.. links.Where(other => other != link)];
            return _links.Length < links.Length;
        }
    }

    /// <summary>A target may be linked more than once: each time is a link of its own.</summary>
    private sealed class Link(ITargetBlock<T> target, bool propagates)
    {
        public ITargetBlock<T> Target { get; } = target;

        public bool Propagates { get; } = propagates;
    }
}
