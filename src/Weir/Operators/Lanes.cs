using Weir.Core.Sources;

namespace Weir.Operators;

/// <summary>Puts a source's items into lanes by key.</summary>
internal static class Lanes
{
    /// <summary>The bound on items that wait for their lane is the read-ahead, which is what it is for their owner: items read and not yet started.</summary>
    public static Source<T> Of<T, TKey>(Source<T> source, Func<T, TKey> keyOf, ParallelRunOptions options)
        where TKey : notnull =>
        new KeyedSource<T, TKey>(source, keyOf, null, options.MaxPerPartition, options.ChannelCapacity);
}
