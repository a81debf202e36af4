using System.Text.RegularExpressions;

namespace Weir.Tables.Page;

/// <summary>
/// The line with which a page of results begins: how many of its goals are met, and which is missed by most. It is made of the verdicts that stand on the page,
/// so it holds for the sections that a run has measured, for those that it has kept, and for goals that were judged anew.
/// </summary>
internal static partial class PageAnswer
{
    private const int LongestMiss = 160;

    private static readonly Dictionary<string, double> Units = new() { ["ns"] = 1, ["us"] = 1e3, ["ms"] = 1e6, ["s"] = 1e9 };

    /// <summary>
    /// The page with its answer under its title, in place of the one that was there: of its goals, or of the rows that Weir shares with what comes with .NET. A
    /// page without either, or with a sentence of its own for what it found, is
    /// left as it is.
    /// </summary>
    public static string Put(string page)
    {
        page = Existing().Replace(page.ReplaceLineEndings("\n"), "", 1);
        (string Text, string Verdict)[] goals = [.. Goal().Matches(page).Select(static m => (m.Groups["text"].Value.Trim(), m.Groups["verdict"].Value))];
        string? line = OwnAnswer().IsMatch(page) ? null : goals.Length > 0 ? Line(goals) : BesideThePlatform(page);
        return line is null ? page : Title().Replace(page, m => $"{m.Value}\n{line}\n", 1);
    }

    // Of tables that have the same rows for Weir and for what comes with .NET, on the newest version, a time and its memory in each cell.
    private static string? BesideThePlatform(string page)
    {
        List<(string Row, double Time, double Memory)> ratios = [];
        string newest = "";
        string[] heads = [];
        foreach (string[] cells in page.Split('\n').Where(static line => line.StartsWith("| ", StringComparison.Ordinal))
            .Select(static line => line.Trim('|', ' ').Split(" |").Select(static cell => cell.Trim(' ', '|')).ToArray()))
        {
            if (Array.FindLast(cells, static cell => cell.StartsWith("platform, ", StringComparison.Ordinal)) is { } last)
            {
                (heads, newest) = (cells, last["platform, ".Length..]);
            }
            else if (Cell(cells, heads, $"Weir, {newest}") is var (time, memory) && Cell(cells, heads, $"platform, {newest}") is var (otherTime, otherMemory))
            {
                ratios.Add((cells[0], time / otherTime, memory / otherMemory));
            }
        }

        if (ratios.Count == 0)
        {
            return null;
        }

        (string row, double most, _) = ratios.MaxBy(static r => r.Time);
        return Invariant($"**On {newest}, Weir takes {Spread.Of(ratios.Select(static r => r.Time)).Median:0.00} of the time of what comes with .NET and ")
            + Invariant($"{Spread.Of(ratios.Select(static r => r.Memory)).Median:0.00} of its memory, at the median of {ratios.Count:N0} rows.** ")
            + Invariant($"The most time, {most:0.00}: {row}.");
    }

    private static (double Time, double Memory)? Cell(string[] cells, string[] heads, string head)
    {
        int column = Array.IndexOf(heads, head);
        return column >= 0 && column < cells.Length && TimeAndMemory().Match(cells[column]) is { Success: true } both
            ? (Number(both.Groups[1].Value) * Units[both.Groups[2].Value], Number(both.Groups[3].Value))
            : null;
    }

    private static double Number(string text) => double.Parse(text, NumberStyles.Number, CultureInfo.InvariantCulture);

    /// <summary>The answer.</summary>
    internal static string Line(IReadOnlyList<(string Text, string Verdict)> goals)
    {
        int met = goals.Count(static g => g.Verdict is "met" or "Met.");
        (string Text, string Verdict)[] missed = [.. goals.Where(static g => g.Verdict.StartsWith("**", StringComparison.Ordinal) && !IsOpen(g.Verdict))];
        int open = goals.Count - met - missed.Length;
        string counts = Invariant($"{met:N0} of {goals.Count:N0} goals {(met == 1 ? "is" : "are")} met")
            + (missed.Length > 0 ? Invariant($", {missed.Length:N0} {(missed.Length == 1 ? "is" : "are")} missed") : "")
            + (open > 0 ? Invariant($", {open:N0} {(open == 1 ? "is" : "are")} undecided: the interval holds the limit") : "");
        if (missed.Length == 0)
        {
            return $"**{counts}.**";
        }

        (string Text, string Verdict) worst = missed.MaxBy(static g => MissOf(g.Verdict));
        return $"**{counts}.** {(missed.Length == 1 ? "The one missed" : MissOf(worst.Verdict) > 0 ? "Missed by most" : "Missed, for one")}: {Shortened(worst.Text)}"
            + (MissOf(worst.Verdict) > 0 ? $", {worst.Verdict.Trim('*')}." : ".");
    }

    private static bool IsOpen(string verdict) => verdict.Contains("INCONCLUSIVE", StringComparison.Ordinal);

    // How far it is missed, where the verdict says so.
    private static double MissOf(string verdict) =>
        Percent().Match(verdict) is { Success: true } by ? Number(by.Groups[1].Value) : 0;

    private static string Shortened(string text) => text.Length <= LongestMiss ? text : text[..text.LastIndexOf(' ', LongestMiss)].TrimEnd(',', ';') + " …";

    [GeneratedRegex(@"\A# [^\n]*\n")]
    private static partial Regex Title();

    // What this has written, and no other sentence in bold.
    [GeneratedRegex(@"(?<=\A# [^\n]*\n)\n\*\*[\d,]+ of [\d,]+ goals? (?:is|are) met[^\n]*\n|(?<=\A# [^\n]*\n)\n\*\*On \.NET \d+, Weir takes [^\n]*\n")]
    private static partial Regex Existing();

    [GeneratedRegex(@"\A# [^\n]*\n\n\*\*[^*\n]+\d[^*\n]*\*\*")]
    private static partial Regex OwnAnswer();

    // A line under a table, a row of a table with a limit, or the goal of a check.
    [GeneratedRegex(@"^- (?<text>.+?)[,:] (?<verdict>met|\*\*missed(?: by [^*]*)?\*\*|undecided: [^\n]*)$|"
        + @"^\| (?<text>[^|\n]+) \|[^\n]*\| [\d.]+: (?<verdict>met|\*\*missed(?: by [^*]*)?\*\*|undecided: [^|\n]*) \|$|"
        + @"^Goal: (?<text>[^\n]+?)\.? (?<verdict>Met\.|\*\*Not met\.\*\*|\*\*INCONCLUSIVE\.\*\*)$", RegexOptions.Multiline)]
    private static partial Regex Goal();

    [GeneratedRegex(@"^([\d,.]+) (ns|us|ms|s), ([\d,.]+) KB$")]
    private static partial Regex TimeAndMemory();

    [GeneratedRegex(@"missed by ([\d,.]+) %")]
    private static partial Regex Percent();
}
