using System.Threading.Channels;
using Weir.Core.Sources;

namespace Weir.Operators;

/// <summary>Reads what an operator gets as its source in batches, with keys or without. Nothing is read here.</summary>
/// <param name="size">The largest number of items in a batch.</param>
/// <param name="timeout">How long the first item may wait for the others; null for no limit.</param>
/// <param name="options">The clock, and the limits of keys.</param>
internal readonly struct BatchesOf(int size, TimeSpan? timeout, ParallelRunOptions options)
{
    /// <exception cref="ArgumentException">The keys are those of items.</exception>
    public Source<IReadOnlyList<T>> Enumerable<T>(IEnumerable<T> source) =>
        source is PartitionedItems<T> keyed ? ItemsOf.Lanes(keyed.Keys.Batches, Enumerable(keyed.Items), options)
        // A queue makes a batch of what it has: it must know what runs, which it would not if it were read step by step.
        : timeout is null || source is WorkQueueItems<T> || Batches.IsInMemory(source) ? Batches.Enumerable(source, size)
        : new TimedBatchSource<T>(new OffloadedEnumerable<T>(source), size, timeout, options.TimeProvider);

    /// <inheritdoc cref="Enumerable"/>
    public Source<IReadOnlyList<T>> AsyncEnumerable<T>(IAsyncEnumerable<T> source) => source is PartitionedAsyncItems<T> keyed
        ? ItemsOf.Lanes(keyed.Keys.Batches, keyed.Channel is { } channel ? Channel(channel) : AsyncEnumerable(keyed.Items!), options)
        : Batches.AsyncEnumerable(source, size, timeout, options.TimeProvider);

    public Source<IReadOnlyList<T>> Channel<T>(ChannelReader<T> source) =>
        new TimedBatchSource<T>(source.ReadAllAsync(CancellationToken.None), size, timeout, options.TimeProvider);

    /// <summary>For a stream, which opens its source later: what is wrong with the keys is thrown now.</summary>
    /// <exception cref="ArgumentException">The keys are those of items.</exception>
    public static void Check<T>(IEnumerable<T> source) => _ = (source as PartitionedItems<T>)?.Keys.Batches;

    /// <inheritdoc cref="Check{T}(IEnumerable{T})"/>
    public static void Check<T>(IAsyncEnumerable<T> source) => _ = (source as PartitionedAsyncItems<T>)?.Keys.Batches;
}
