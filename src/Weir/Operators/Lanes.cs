using Weir.Core.Sources;

namespace Weir.Operators;

/// <summary>Puts a source's items into lanes by key.</summary>
internal static class Lanes
{
    /// <summary>The read-ahead also bounds the items that wait for their lane: they too are items that were read but have not started.</summary>
    public static Source<T> Of<T, TKey>(Source<T> source, Func<T, TKey> keyOf, ParallelRunOptions options)
        where TKey : notnull =>
        new KeyedSource<T, TKey>(source, keyOf, null, options.MaxPerPartition, options.ChannelCapacity);
}
