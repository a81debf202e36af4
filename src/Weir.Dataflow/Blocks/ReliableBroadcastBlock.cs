using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;
using Weir.Dataflow.Links;

namespace Weir.Dataflow;

/// <summary>
/// A block that gives a copy of every message to every link, and waits for those that are full: the back-pressure that a BroadcastBlock has not.
/// </summary>
/// <typeparam name="T">The messages.</typeparam>
/// <remarks>
/// All members are thread-safe. A message is done when every target that was linked when its turn came has taken or declined it for good; the next one starts then. Without a
/// link, messages are thrown away, as by a BroadcastBlock. BoundedCapacity counts the messages that are not done.
/// </remarks>
public sealed class ReliableBroadcastBlock<T> : ITargetBlock<T>
{
    private readonly Lock _lock = new();
    private readonly Func<T, T>? _clone;
    private readonly ActionCore<T> _core;
    private ITargetBlock<T>[] _links = [];

    /// <summary>A block with default options.</summary>
    /// <param name="cloningFunction">Makes the copy that a target gets; null hands out the message itself.</param>
    public ReliableBroadcastBlock(Func<T, T>? cloningFunction)
        : this(cloningFunction, new DataflowBlockOptions())
    {
    }

    /// <summary>A block with these options.</summary>
    /// <param name="cloningFunction">Makes the copy that a target gets; null hands out the message itself.</param>
    /// <param name="dataflowBlockOptions">The options. They are copied.</param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    public ReliableBroadcastBlock(Func<T, T>? cloningFunction, DataflowBlockOptions dataflowBlockOptions)
    {
        _clone = cloningFunction;
        _core = new ActionCore<T>(this, null, PublishAsync, BlockOptions.Of(dataflowBlockOptions));
    }

    /// <inheritdoc/>
    public Task Completion => _core.Completion;

    /// <summary>Links this block to a target.</summary>
    /// <param name="target">The target.</param>
    /// <param name="propagateCompletion">Whether the target is completed, or fails, with this block.</param>
    /// <returns>Ends the link when disposed; a message that is being given out may still come.</returns>
    /// <exception cref="ArgumentNullException">The target is null.</exception>
    public IDisposable LinkTo(ITargetBlock<T> target, bool propagateCompletion = false)
    {
        ArgumentNullException.ThrowIfNull(target);
        lock (_lock)
        {
            _links = [.. _links, target];
        }

        if (propagateCompletion)
        {
            Completion.ContinueWith(
                static (task, state) => Protocol.Propagate(task, (IDataflowBlock)state!),
                target,
                CancellationToken.None,
                TaskContinuationOptions.ExecuteSynchronously | TaskContinuationOptions.DenyChildAttach,
                TaskScheduler.Default);
        }

        return new Links.Unlinker(() => Unlink(target));
    }

    /// <summary>Gives the block a message if it takes it now.</summary>
    /// <param name="item">The message.</param>
    /// <returns>Whether the block took it.</returns>
    public bool Post(T item) => _core.Post(item);

    /// <summary>Gives the block a message, waiting for room if it is full.</summary>
    /// <param name="item">The message.</param>
    /// <param name="cancellationToken">Ends the wait. The message is then not taken.</param>
    /// <returns>Whether the block took it. False when it declines for good.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled before the message was taken (in the task).</exception>
    public Task<bool> SendAsync(T item, CancellationToken cancellationToken = default) => _core.SendAsync(item, cancellationToken);

    /// <inheritdoc/>
    public void Complete() => _core.Complete(null, drop: false);

    /// <inheritdoc/>
    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        _core.Complete(exception, drop: true);
    }

    /// <inheritdoc/>
    DataflowMessageStatus ITargetBlock<T>.OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        _core.Offer(messageHeader, messageValue, source, consumeToAccept);

    /// <inheritdoc/>
    public override string ToString() => _core.Options.Name(this);

    private async Task PublishAsync(T item)
    {
        ITargetBlock<T>[] links = Volatile.Read(ref _links);
        Task<bool>[] sends = new Task<bool>[links.Length];
        for (int i = 0; i < links.Length; i++)
        {
            sends[i] = links[i].SendAsync(_clone is null ? item : _clone(item), _core.Options.Token);
        }

        for (int i = 0; i < sends.Length; i++)
        {
            if (!await sends[i].ConfigureAwait(false))
            {
                Unlink(links[i]);
            }
        }
    }

    private void Unlink(ITargetBlock<T> target)
    {
        lock (_lock)
        {
            int index = Array.FindIndex(_links, link => ReferenceEquals(link, target));
            if (index >= 0)
            {
                _links = [.. _links[..index], .. _links[(index + 1)..]];
            }
        }
    }
}
