using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow;

/// <summary>Builds networks: sources from sequences, two blocks as one, the first of several sources.</summary>
public static class DataflowBlocks
{
    /// <summary>Creates a source of the items of an asynchronous sequence.</summary>
    /// <typeparam name="T">The type of the messages.</typeparam>
    /// <param name="items">The sequence. It is read once, on the thread pool, from this call on.</param>
    /// <param name="dataflowBlockOptions">The options; BoundedCapacity limits how far reading runs ahead. Null means the default, 1 message.</param>
    /// <returns>The source. It completes or faults when the sequence does; cancelling its token stops the reading.</returns>
    /// <exception cref="ArgumentNullException">The sequence is null.</exception>
    public static IReceivableSourceBlock<T> From<T>(IAsyncEnumerable<T> items, DataflowBlockOptions? dataflowBlockOptions = null)
    {
        ArgumentNullException.ThrowIfNull(items);
        DataflowBlockOptions options = dataflowBlockOptions ?? new DataflowBlockOptions { BoundedCapacity = 1 };
        BufferBlock<T> buffer = new(options);
        CancellationToken token = options.CancellationToken;
        _ = Task.Run(() => ReadAsync(items, buffer, token), CancellationToken.None);
        return buffer;
    }

    /// <summary>Creates a block with the input of one block and the output of another.</summary>
    /// <typeparam name="TInput">The type of the input.</typeparam>
    /// <typeparam name="TOutput">The type of the output.</typeparam>
    /// <param name="target">The block that takes the messages, and gets Complete and Fault.</param>
    /// <param name="source">The block that gives the outputs, and whose Completion the block has.</param>
    /// <returns>The block. The caller must link its parts to each other and propagate completion between them.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Links are those of the source itself, MaxMessages included.</remarks>
    public static IPropagatorBlock<TInput, TOutput> Encapsulate<TInput, TOutput>(ITargetBlock<TInput> target, ISourceBlock<TOutput> source)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(source);
        return new EncapsulatedBlock<TInput, TOutput>(target, source);
    }

    /// <summary>Takes one message from whichever of two sources has one first.</summary>
    /// <typeparam name="T1">The type of the first source's messages.</typeparam>
    /// <typeparam name="T2">The type of the second source's messages.</typeparam>
    /// <param name="source1">The first source.</param>
    /// <param name="action1">What to do with its message.</param>
    /// <param name="source2">The second source.</param>
    /// <param name="action2">What to do with its message.</param>
    /// <param name="dataflowBlockOptions">The scheduler and the token. Null means the defaults.</param>
    /// <returns>0 or 1: the action that ran. The task is cancelled if both sources complete without a message.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public static Task<int> Choose<T1, T2>(
        ISourceBlock<T1> source1, Action<T1> action1, ISourceBlock<T2> source2, Action<T2> action2, DataflowBlockOptions? dataflowBlockOptions = null) =>
        DataflowBlock.Choose(source1, action1, source2, action2, dataflowBlockOptions ?? new DataflowBlockOptions());

    /// <summary>Takes one message from whichever of three sources has one first.</summary>
    /// <typeparam name="T1">The type of the first source's messages.</typeparam>
    /// <typeparam name="T2">The type of the second source's messages.</typeparam>
    /// <typeparam name="T3">The type of the third source's messages.</typeparam>
    /// <param name="source1">The first source.</param>
    /// <param name="action1">What to do with its message.</param>
    /// <param name="source2">The second source.</param>
    /// <param name="action2">What to do with its message.</param>
    /// <param name="source3">The third source.</param>
    /// <param name="action3">What to do with its message.</param>
    /// <param name="dataflowBlockOptions">The scheduler and the token. Null means the defaults.</param>
    /// <returns>0, 1 or 2: the action that ran. The task is cancelled if all sources complete without a message.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public static Task<int> Choose<T1, T2, T3>(
        ISourceBlock<T1> source1,
        Action<T1> action1,
        ISourceBlock<T2> source2,
        Action<T2> action2,
        ISourceBlock<T3> source3,
        Action<T3> action3,
        DataflowBlockOptions? dataflowBlockOptions = null) =>
        DataflowBlock.Choose(source1, action1, source2, action2, source3, action3, dataflowBlockOptions ?? new DataflowBlockOptions());

    /// <summary>Moves an asynchronous sequence into a block.</summary>
    private static async Task ReadAsync<T>(IAsyncEnumerable<T> items, BufferBlock<T> buffer, CancellationToken token)
    {
        try
        {
            await foreach (T item in items.WithCancellation(token).ConfigureAwait(false))
            {
                if (!await buffer.SendValueAsync(item, CancellationToken.None).ConfigureAwait(false))
                {
                    // Completed from outside, failed or cancelled: leaving the loop disposes the enumerator.
                    return;
                }
            }

            buffer.Complete();
        }
        catch (OperationCanceledException) when (token.IsCancellationRequested)
        {
            buffer.Complete();
        }
        catch (Exception e)
        {
            ((IDataflowBlock)buffer).Fault(e);
        }
    }

    /// <summary>Two ends of a network as one block.</summary>
    /// <remarks>
    /// Targets are linked to the source itself, so it sees them consume and can count for MaxMessages.
    /// </remarks>
    [DebuggerDisplay("{DebuggerDisplay,nq}")]
    private sealed class EncapsulatedBlock<TIn, TOut>(
        ITargetBlock<TIn> target, ISourceBlock<TOut> source) : IPropagatorBlock<TIn, TOut>, IReceivableSourceBlock<TOut>
    {
        public Task Completion => source.Completion;

        private string DebuggerDisplay => $"Target={target}, Source={source}";

        public void Complete() => target.Complete();

        void IDataflowBlock.Fault(Exception exception) => target.Fault(exception);

        public DataflowMessageStatus OfferMessage(DataflowMessageHeader messageHeader, TIn messageValue, ISourceBlock<TIn>? source, bool consumeToAccept) =>
            target.OfferMessage(messageHeader, messageValue, source, consumeToAccept);

        public IDisposable LinkTo(ITargetBlock<TOut> target, DataflowLinkOptions linkOptions) => source.LinkTo(target, linkOptions);

        public bool TryReceive(Predicate<TOut>? filter, [MaybeNullWhen(false)] out TOut item)
        {
            if (source is IReceivableSourceBlock<TOut> receivable)
            {
                return receivable.TryReceive(filter, out item);
            }

            item = default;
            return false;
        }

        public bool TryReceiveAll([NotNullWhen(true)] out IList<TOut>? items)
        {
            if (source is IReceivableSourceBlock<TOut> receivable)
            {
                return receivable.TryReceiveAll(out items);
            }

            items = null;
            return false;
        }

        TOut? ISourceBlock<TOut>.ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<TOut> target, out bool messageConsumed) =>
            source.ConsumeMessage(messageHeader, target, out messageConsumed);

        bool ISourceBlock<TOut>.ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<TOut> target) => source.ReserveMessage(messageHeader, target);

        void ISourceBlock<TOut>.ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<TOut> target) =>
            source.ReleaseReservation(messageHeader, target);
    }
}
