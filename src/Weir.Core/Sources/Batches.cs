using System.Runtime.InteropServices;

namespace Weir.Core.Sources;

/// <summary>Splits a sequence into batches, one at a time and only as they are requested.</summary>
internal static class Batches
{
    public static Source<IReadOnlyList<T>> Enumerable<T>(IEnumerable<T> items, int batchSize) => items switch
    {
        // Read-only spans, because the array may be a covariant one (string[] as object[]), which no other span accepts.
        T[] array => new BatchSource<T>(array.Length, batchSize, (first, count) => new ReadOnlySpan<T>(array, first, count).ToArray()),
        List<T> list when list.GetType() == typeof(List<T>) => new BatchSource<T>(list.Count, batchSize, (first, count) => Slice(list, first, count)),
        WorkQueueItems<T> { Queue: var queue } => new WorkQueueBatchSource<T>(queue, batchSize),
        _ => new LazyBatchSource<T>(items, batchSize),
    };

    public static Source<IReadOnlyList<T>> AsyncEnumerable<T>(IAsyncEnumerable<T> items, int batchSize, TimeSpan? timeout, TimeProvider time) =>
        items is WorkQueue<T> queue ? new WorkQueueBatchSource<T>(queue, batchSize) : new TimedBatchSource<T>(items, batchSize, timeout, time);

    /// <summary>Whether all items are in memory, so that a batch never has to wait for its last item.</summary>
    public static bool IsInMemory<T>(IEnumerable<T> items) => SourceOf.Enumerable(items).KnownCount >= 0;

    private static T[] Slice<T>(List<T> list, int first, int count)
    {
        Span<T> all = CollectionsMarshal.AsSpan(list);
        return all.Length >= first + count
            ? all.Slice(first, count).ToArray()
            : throw new InvalidOperationException("The source list was changed while the run was reading it.");
    }
}
