namespace Weir.Tables.Page;

/// <summary>What <c>--only</c> selects.</summary>
internal static class Selection
{
    /// <summary>The things with the given names; all of them without names.</summary>
    /// <param name="all">All things, in their order.</param>
    /// <param name="only">The names.</param>
    /// <param name="nameOf">The name of a thing. Several may have the same.</param>
    public static T[] Of<T>(IEnumerable<T> all, IReadOnlyList<string> only, Func<T, string> nameOf)
    {
        string[] names = [.. all.Select(nameOf).Distinct()];
        return only.FirstOrDefault(name => !names.Contains(name)) is { } unknown
            ? throw new BadInputException($"--only must be one or more of {string.Join("; ", names)}; it is '{unknown}'.")
            : [.. all.Where(thing => only.Count == 0 || only.Contains(nameOf(thing)))];
    }
}
