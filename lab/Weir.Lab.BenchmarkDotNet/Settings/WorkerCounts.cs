namespace Weir.Lab.Benchmarks.Settings;

/// <summary>Numbers of workers as they are written.</summary>
internal static class WorkerCounts
{
    private const int Most = 100_000;

    public static int[] Checked(IReadOnlyCollection<int> counts) => counts.Count > 0 && counts.All(static n => n is >= 1 and <= Most)
        ? [.. counts.Distinct()]
        : throw new ArgumentException($"There must be at least one number of workers, from 1 to {Most}.", nameof(counts));

    /// <summary>Reads numbers that are separated by commas or spaces.</summary>
    public static bool TryParse(IEnumerable<string> texts, out int[] counts)
    {
        List<int> found = [];
        foreach (string text in texts.SelectMany(static t => t.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)))
        {
            if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int count) || count is < 1 or > Most)
            {
                counts = [];
                return false;
            }

            found.Add(count);
        }

        counts = [.. found.Distinct()];
        return counts.Length > 0;
    }
}
