using Weir.Core.Sources;

namespace Weir.Runtimes;

/// <summary>Reads a call's list in place, by index, whatever kind of list it is.</summary>
internal static class RuntimeSource
{
    public static Source<T> Of<T>(IReadOnlyList<T> items, int count)
    {
        Source<T> source = SourceOf.Enumerable(items);
        return source.KnownCount == count ? source : new LazySource<T>(Indexed(items, count));
    }

    // For a list that does not enumerate as many items as it counts, the indexer decides.
    private static IEnumerable<T> Indexed<T>(IReadOnlyList<T> items, int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return items[i];
        }
    }
}
