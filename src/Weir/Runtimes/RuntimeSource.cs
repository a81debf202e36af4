using Weir.Core.Sources;

namespace Weir.Runtimes;

/// <summary>Reads a list of a call in place, by index whatever kind of list it is.</summary>
internal static class RuntimeSource
{
    public static Source<T> Of<T>(IReadOnlyList<T> items, int count)
    {
        Source<T> source = SourceOf.Enumerable(items);
        return source.KnownCount == count ? source : new LazySource<T>(Indexed(items, count));
    }

    // A list that does not enumerate what it counts: its indexer decides.
    private static IEnumerable<T> Indexed<T>(IReadOnlyList<T> items, int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return items[i];
        }
    }
}
