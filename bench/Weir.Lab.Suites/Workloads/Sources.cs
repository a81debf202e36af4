namespace Weir.Lab.Suites.Workloads;

/// <summary>The items of all suites: 1 to N, in each kind of sequence.</summary>
internal static class Sources
{
    public static IEnumerable<int> Of(SourceKind kind, int count) => kind switch
    {
        SourceKind.Array => Enumerable.Range(1, count).ToArray(),
        SourceKind.List => Enumerable.Range(1, count).ToList(),
        SourceKind.Range => Enumerable.Range(1, count),
        SourceKind.Lazy => Lazy(count),
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "A source of this kind can only be read asynchronously."),
    };

    /// <summary>1, 2, 3 and so on, without an end: only an early exit ends a run over it.</summary>
    public static IEnumerable<int> Endless()
    {
        for (int item = 1; ; item++)
        {
            yield return item;
        }
    }

    private static IEnumerable<int> Lazy(int count)
    {
        for (int item = 1; item <= count; item++)
        {
            yield return item;
        }
    }
}
