namespace Weir.Tables.Commands;

/// <summary>
/// The sentences with which pages of commands begin. They are made of the tables that stand on the page, so they hold for the sections that a run has measured
/// and for those that it has kept.
/// </summary>
internal static class CommandAnswers
{
    private const string Arm = "arm";
    private const string Beside = "x ForEachAsync";
    private const string Ratio = "ratio (sync/async)";
    private static readonly string[] Runtimes = ["direct", "concurrent", "parallel", "auto"];

    /// <summary>How fast the runtimes are beside what comes with .NET: each with the size that is its best.</summary>
    public static string? OfLoad(Func<string, string> section)
    {
        string text = section("ordered");
        (string Arm, double Times)[] rows = [.. Rows(text, Arm, Beside).Select(static row => (row.First, Number(row.Second))).Where(static row => row.Item2 is not null).Select(static row => (row.First, row.Item2!.Value))];
        string[] runtimes = [.. Runtimes.Select(Best).OfType<string>()];
        return runtimes.Length < 4
            ? null
            : $"50,000,000 items in batches of 50,000, in order{(text.Contains("not quiet", StringComparison.Ordinal) ? ", on a machine that was not quiet" : "")}: beside `Parallel.ForEachAsync`, "
                + $"{string.Join(", ", runtimes[..^1])} and {runtimes[^1]}.";

        string? Best(string runtime) => rows.Where(row => row.Arm.Split('/')[0] == runtime).OrderByDescending(static row => row.Times)
            .Select(row => $"`{runtime}`{(row.Arm.Split('/') is [_, var size] ? $" with {size} at once" : "")}{(runtime == "direct" ? " is" : "")} " + Invariant($"{row.Times:0.0} times{(runtime == "direct" ? " as fast" : "")}"))
            .FirstOrDefault();
    }

    /// <summary>How many files blocking workers hash beside asynchronous ones, over all attempts.</summary>
    public static string? OfHash(Func<string, string> section)
    {
        string[] attempts = [section("first"), section("second")];
        (string Workers, double Ratio)[] rows = [.. attempts.SelectMany(static text => Rows(text, "workers (threads)", Ratio))
            .Select(static row => (row.First, Number(row.Second))).Where(static row => row.Item2 is not null).Select(static row => (row.First, row.Item2!.Value))];
        return rows.Length == 0
            ? null
            : Invariant($"Blocking workers hash {rows.Min(static row => row.Ratio):0.00} to {rows.Max(static row => row.Ratio):0.00} of the files that as many asynchronous ones hash, ")
                + $"with {rows[0].Workers} to {rows[^1].Workers} workers"
                + (Array.TrueForAll(attempts, static text => text.Contains("- I/O-bound", StringComparison.Ordinal)) ? "; the device limits both." : ".");
    }

    /// <summary>Two columns of the first table that has both.</summary>
    private static IEnumerable<(string First, string Second)> Rows(string text, string first, string second)
    {
        string[] lines = text.Split('\n');
        int head = Array.FindIndex(lines, line => Cells(line) is var cells && cells.Contains(first) && cells.Contains(second));
        if (head < 0)
        {
            yield break;
        }

        int at = Array.IndexOf(Cells(lines[head]), first);
        int other = Array.IndexOf(Cells(lines[head]), second);
        foreach (string line in lines.Skip(head + 2).TakeWhile(static line => line.StartsWith('|')))
        {
            yield return (Cells(line)[at], Cells(line)[other]);
        }
    }

    private static string[] Cells(string line) => line.StartsWith('|') ? line.Trim('|').Split('|', StringSplitOptions.TrimEntries) : [];

    private static double? Number(string text) => double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double number) ? number : null;
}
