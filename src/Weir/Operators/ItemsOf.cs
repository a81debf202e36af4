using Weir.Core.Sources;

namespace Weir.Operators;

/// <summary>Reads what an operator gets as its source: any sequence, with keys or without. Nothing is read here.</summary>
internal static class ItemsOf
{
    /// <exception cref="ArgumentException">The keys are those of batches.</exception>
    public static Source<T> Enumerable<T>(IEnumerable<T> source, ParallelRunOptions options) => source is PartitionedItems<T> keyed
        ? Lanes(keyed.Keys.Items, SourceOf.Enumerable(keyed.Items), options)
        : SourceOf.Enumerable(source);

    /// <inheritdoc cref="Enumerable"/>
    public static Source<T> AsyncEnumerable<T>(IAsyncEnumerable<T> source, ParallelRunOptions options) => source is PartitionedAsyncItems<T> keyed
        ? Lanes(keyed.Keys.Items, keyed.Channel is { } channel ? SourceOf.Channel(channel) : SourceOf.AsyncEnumerable(keyed.Items!), options)
        : SourceOf.AsyncEnumerable(source);

    /// <summary>For a stream, which opens its source later: what is wrong with the keys is thrown now.</summary>
    /// <exception cref="ArgumentException">The keys are those of batches.</exception>
    public static void Check<T>(IEnumerable<T> source) => _ = (source as PartitionedItems<T>)?.Keys.Items;

    /// <inheritdoc cref="Check{T}(IEnumerable{T})"/>
    public static void Check<T>(IAsyncEnumerable<T> source) => _ = (source as PartitionedAsyncItems<T>)?.Keys.Items;

    // The read-ahead also bounds the items that wait for their lane: they too are items that were read but have not started.
    internal static Source<T> Lanes<T>(ItemKeys<T> keys, Source<T> source, ParallelRunOptions options) =>
        keys.Lanes(source, options.Output.ChannelCapacity);
}
