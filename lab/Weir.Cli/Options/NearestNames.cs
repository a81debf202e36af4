namespace Weir.Cli.Options;

/// <summary>The names that somebody may have meant.</summary>
internal static class NearestNames
{
    private const int Most = 3;

    /// <summary>The nearest of some names: first those that have the other one in them, then those that differ in the fewest letters.</summary>
    public static IReadOnlyList<string> Of(string name, IEnumerable<string> names) =>
    [
        .. names
            .OrderBy(n => n.Contains(name, StringComparison.OrdinalIgnoreCase) ? 0 : 1)
            .ThenBy(n => Distance(name.ToUpperInvariant(), n.ToUpperInvariant()))
            .ThenBy(static n => n, StringComparer.Ordinal)
            .Take(Most),
    ];

    // How many letters have to be put in, left out or changed (Levenshtein).
    private static int Distance(string left, string right)
    {
        int[] row = [.. Enumerable.Range(0, right.Length + 1)];
        for (int i = 1; i <= left.Length; i++)
        {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.Length; j++)
            {
                int changed = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.Min(changed, 1 + Math.Min(row[j], row[j - 1]));
            }
        }

        return row[^1];
    }
}
