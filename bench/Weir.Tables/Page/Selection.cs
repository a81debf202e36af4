using System.IO.Enumeration;

namespace Weir.Tables.Page;

/// <summary>What <c>--only</c> and <c>--filter</c> select.</summary>
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

    /// <summary>The cells of a grid whose names match a pattern; all of them without patterns.</summary>
    /// <param name="all">All cells, in their order.</param>
    /// <param name="filter">The patterns.</param>
    /// <param name="nameOf">The name of a cell.</param>
    /// <param name="namedBy">What a name is made of, for the message.</param>
    /// <exception cref="BadInputException">There is none.</exception>
    public static T[] Matching<T>(IReadOnlyList<T> all, IReadOnlyList<string> filter, Func<T, string> nameOf, string namedBy)
    {
        T[] cells = [.. all.Where(cell => filter.Count == 0 || filter.Any(pattern => FileSystemName.MatchesSimpleExpression(pattern, nameOf(cell))))];
        return cells.Length > 0
            ? cells
            : throw new BadInputException($"No cell matches {string.Join(' ', filter)}; a cell is named by {namedBy}, as in {nameOf(all[0])}.");
    }
}
