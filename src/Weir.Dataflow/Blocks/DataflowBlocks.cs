using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Cores;

namespace Weir.Dataflow;

/// <summary>Networks from parts: sources from sequences, several blocks as one, the first of several sources.</summary>
public static class DataflowBlocks
{
    /// <summary>A source that hands out what an asynchronous sequence yields.</summary>
    /// <typeparam name="T">The messages.</typeparam>
    /// <param name="items">The sequence. It is read on the pool, once, from now on.</param>
    /// <param name="dataflowBlockOptions">The options; BoundedCapacity says how far reading runs ahead. Null for the default, which is 1 message.</param>
    /// <returns>The source. It completes with the sequence, and fails with it; cancelling its token stops the reading.</returns>
    /// <exception cref="ArgumentNullException">The sequence is null.</exception>
    public static IReceivableSourceBlock<T> From<T>(IAsyncEnumerable<T> items, DataflowBlockOptions? dataflowBlockOptions = null)
    {
        ArgumentNullException.ThrowIfNull(items);
        DataflowBlockOptions options = dataflowBlockOptions ?? new DataflowBlockOptions { BoundedCapacity = 1 };
        BufferBlock<T> buffer = new(options);
        CancellationToken token = options.CancellationToken;
        _ = Task.Run(() => SequenceReader.ReadAsync(items, buffer, token), CancellationToken.None);
        return buffer;
    }

    /// <summary>One block whose input is one block's and whose output is another's.</summary>
    /// <typeparam name="TInput">The input.</typeparam>
    /// <typeparam name="TOutput">The output.</typeparam>
    /// <param name="target">Takes the messages, and is what Complete and Fault go to.</param>
    /// <param name="source">Hands out the outputs, and is what Completion is of.</param>
    /// <returns>The block. Linking its parts to each other, and their completion, is the caller's part.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <remarks>Links are those of the source itself, MaxMessages included.</remarks>
    public static IPropagatorBlock<TInput, TOutput> Encapsulate<TInput, TOutput>(ITargetBlock<TInput> target, ISourceBlock<TOutput> source)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(source);
        return new EncapsulatedBlock<TInput, TOutput>(target, source);
    }

    /// <summary>Takes one message from whichever of two sources has one first.</summary>
    /// <typeparam name="T1">The messages of the first.</typeparam>
    /// <typeparam name="T2">The messages of the second.</typeparam>
    /// <param name="source1">The first source.</param>
    /// <param name="action1">What to do with its message.</param>
    /// <param name="source2">The second source.</param>
    /// <param name="action2">What to do with its message.</param>
    /// <param name="dataflowBlockOptions">The scheduler and the token. Null for the default.</param>
    /// <returns>0 or 1, for which action ran. Cancelled when both sources complete without a message.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    public static Task<int> Choose<T1, T2>(
        ISourceBlock<T1> source1, Action<T1> action1, ISourceBlock<T2> source2, Action<T2> action2, DataflowBlockOptions? dataflowBlockOptions = null) =>
        DataflowBlock.Choose(source1, action1, source2, action2, dataflowBlockOptions ?? new DataflowBlockOptions());

    /// <summary>Takes one message from whichever of three sources has one first.</summary>
    /// <typeparam name="T1">The messages of the first.</typeparam>
    /// <typeparam name="T2">The messages of the second.</typeparam>
    /// <typeparam name="T3">The messages of the third.</typeparam>
    /// <param name="source1">The first source.</param>
    /// <param name="action1">What to do with its message.</param>
    /// <param name="source2">The second source.</param>
    /// <param name="action2">What to do with its message.</param>
    /// <param name="source3">The third source.</param>
    /// <param name="action3">What to do with its message.</param>
    /// <param name="dataflowBlockOptions">The scheduler and the token. Null for the default.</param>
    /// <returns>0, 1 or 2, for which action ran. Cancelled when all sources complete without a message.</returns>
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
}
