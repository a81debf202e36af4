namespace Weir.Cli.Kit.Options;

/// <summary>Suggests names for a misspelled one.</summary>
internal static class NearestNames
{
    private const int Most = 3;

    /// <summary>The nearest names: first those that contain the given one, then those that differ in the fewest letters.</summary>
    public static IReadOnlyList<string> Of(string name, IEnumerable<string> names) =>
    [
        .. names
            .OrderBy(n => n.Contains(name, StringComparison.OrdinalIgnoreCase) ? 0 : 1)
            .ThenBy(n => Distance(name.ToUpperInvariant(), n.ToUpperInvariant()))
            .ThenBy(static n => n, StringComparer.Ordinal)
            .Take(Most),
    ];

    // The number of letters to insert, delete or change (Levenshtein).
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
