using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace System.Linq;

/// <summary>What the tests use of the sequences' methods of .NET 9 and 10.</summary>
internal static class SequenceMembers
{
    public static IEnumerable<(int Index, T Item)> Index<T>(this IEnumerable<T> source) => source.Select(static (item, index) => (index, item));

    /// <summary>On .NET 8, the newest compiler takes the method of spans, which reverses in place.</summary>
    public static IEnumerable<T> Reverse<T>(this T[] source) => Enumerable.Reverse(source);

    public static async IAsyncEnumerable<T> ToAsyncEnumerable<T>(this IEnumerable<T> source)
    {
        await Task.CompletedTask;
        foreach (T item in source)
        {
            yield return item;
        }
    }

    public static async ValueTask<List<T>> ToListAsync<T>(this IAsyncEnumerable<T> source, CancellationToken cancellationToken = default)
    {
        List<T> items = [];
        await foreach (T item in source.WithCancellation(cancellationToken))
        {
            items.Add(item);
        }

        return items;
    }

    public static async ValueTask<T[]> ToArrayAsync<T>(this IAsyncEnumerable<T> source, CancellationToken cancellationToken = default) =>
        [.. await source.ToListAsync(cancellationToken)];

    public static async ValueTask<int> CountAsync<T>(this IAsyncEnumerable<T> source, CancellationToken cancellationToken = default) =>
        (await source.ToListAsync(cancellationToken)).Count;
}
