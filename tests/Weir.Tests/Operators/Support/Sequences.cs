using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Collections.ObjectModel;

namespace Weir.Tests.Operators.Support;

/// <summary>The numbers from 0 on, in the types in which people have their items.</summary>
internal static class Sequences
{
    private static readonly Dictionary<string, Func<int[], IEnumerable<int>>> All = new()
    {
        ["array"] = static items => items,
        ["List"] = static items => items.ToList(),
        ["ArraySegment"] = static items => new ArraySegment<int>([-1, .. items, -1], 1, items.Length),
        ["ImmutableArray"] = static items => items.ToImmutableArray(),
        ["ImmutableList"] = static items => items.ToImmutableList(),
        ["ReadOnlyCollection"] = static items => new ReadOnlyCollection<int>(items),
        ["ObservableCollection"] = static items => new ObservableCollection<int>(items),
        ["HashSet"] = static items => items.ToHashSet(),
        ["SortedSet"] = static items => new SortedSet<int>(items),
        ["Queue"] = static items => new Queue<int>(items),
        ["LinkedList"] = static items => new LinkedList<int>(items),
        ["Dictionary.Keys"] = static items => items.ToDictionary(static x => x).Keys,
        ["Dictionary.Values"] = static items => items.ToDictionary(static x => x).Values,
        ["ConcurrentQueue"] = static items => new ConcurrentQueue<int>(items),
        ["IReadOnlyList"] = static items => new IndexedItems(items.Length),
        ["Range"] = static items => Enumerable.Range(0, items.Length),
        ["Select of a list"] = static items => items.ToList().Select(static x => x),
        ["Where"] = static items => items.Where(static _ => true),
        ["Order"] = static items => items.Reverse().Order(),
        ["OrderBy"] = static items => items.OrderBy(static x => x),
        ["Concat"] = static items => items.Take(items.Length / 2).Concat(items.Skip(items.Length / 2)),
        ["Memory"] = static items => System.Runtime.InteropServices.MemoryMarshal.ToEnumerable<int>(items),
    };

    public static IEnumerable<string> Names => All.Keys;

    /// <summary>Those that are lists, which is what the runtimes take.</summary>
    public static IEnumerable<string> ListNames => Names.Where(static name => new[] { 0, 1, 2 }.All(count => Of(name, count) is IReadOnlyList<int>));

    public static IEnumerable<int> Of(string name, int count) => All[name]([.. Enumerable.Range(0, count)]);
}
