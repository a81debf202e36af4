using System.Collections.Immutable;
using System.Runtime.InteropServices;
using System.Threading.Channels;

namespace Weir.Core.Sources;

/// <summary>Picks the cheapest way to read a sequence. Nothing is read here.</summary>
internal static class SourceOf
{
    // Only the exact types: a class derived from List may enumerate something other than its items.
    public static Source<T> Enumerable<T>(IEnumerable<T> items) => items switch
    {
        T[] array => new ArraySource<T>(array, 0, array.Length),
        List<T> list when list.GetType() == typeof(List<T>) => new ListSource<T>(list),
        _ => OtherEnumerable(items),
    };

    // Separate, so that the first list of a process does not load what only other sources need.
    private static Source<T> OtherEnumerable<T>(IEnumerable<T> items) => items switch
    {
        ArraySegment<T> { Array: not null } segment => new ArraySource<T>(segment.Array, segment.Offset, segment.Count),
        IReadAsSource<T> own => own.MakeSource(),
        ImmutableArray<T> { IsDefault: false } immutable => new ArraySource<T>(ImmutableCollectionsMarshal.AsArray(immutable)!, 0, immutable.Length),
        _ => CountOf(items) is { } count ? new CollectionSource<T>(items, count) : new LazySource<T>(items),
    };

    public static Source<T> AsyncEnumerable<T>(IAsyncEnumerable<T> items) =>
        items is WorkQueue<T> queue ? queue.MakeSource() : new AsyncSource<T>(items);

    public static Source<T> Channel<T>(ChannelReader<T> reader) => new ChannelSource<T>(reader);

    /// <summary>
    /// The count of a collection whose items are in memory and which no other code may be changing. Concurrent collections have a count too,
    /// but enumerate a moving target, and LINQ's lazy iterators may count without running the user's code.
    /// </summary>
    private static int? CountOf<T>(IEnumerable<T> items)
    {
        string? home = items.GetType().Namespace;
        return items switch
        {
            _ when home is "System.Collections.Concurrent" => null,
            _ when home is "System.Linq" && items is not IList<int> => null,
            ICollection<T> collection => collection.Count,
            IReadOnlyCollection<T> collection => collection.Count,
            _ => null,
        };
    }
}
