using System.Text.RegularExpressions;

namespace Weir.Tables.Page;

/// <summary>A page of tables. All of it is generated, but for its notes, which are written by hand and kept.</summary>
internal sealed class TablePage
{
    private const string Key = "Page";

    private readonly StringBuilder _page;
    private readonly string _before;

    /// <summary>Begins a page.</summary>
    /// <param name="title">What its results are of.</param>
    /// <param name="generated">The sentence that says what generates it.</param>
    /// <param name="introduction">How it was measured, and how to read it.</param>
    /// <param name="provenance">Of what, where and when; null if each table has its own.</param>
    /// <param name="before">The page as it was, whose notes are kept.</param>
    public TablePage(string title, string generated, string introduction, string? provenance, string before)
    {
        _before = before.ReplaceLineEndings("\n");
        _page = new StringBuilder($"# Results: {title}\n\n{generated}\n{introduction}\n\n{(provenance is null ? "" : $"{provenance}\n\n")}");
        PageBlocks.Append(_page, PageBlocks.Notes, Key, PageBlocks.Read(before, PageBlocks.Notes).GetValueOrDefault(Key, ""));
    }

    /// <summary>Adds a table under a heading.</summary>
    /// <param name="heading">The heading, in lower case.</param>
    /// <param name="labels">The heads of the columns that are names.</param>
    /// <param name="figures">The heads of the columns that are figures.</param>
    /// <param name="rows">The cells of each row.</param>
    /// <param name="goals">What follows the table: a goal each, and whether it is met.</param>
    /// <param name="provenance">Of what, where and when, if it is the table's own.</param>
    public void Add(
        string heading,
        IReadOnlyList<string> labels,
        IReadOnlyList<string> figures,
        IEnumerable<IReadOnlyList<string>> rows,
        IReadOnlyList<string> goals,
        string? provenance = null)
    {
        _page.Append($"\n{Heading(heading)}\n{(provenance is null ? "" : $"{provenance}\n\n")}").Append(Table(labels, figures, rows)).Append(goals.Count == 0 ? "" : "\n").Append(string.Concat(goals.Select(static goal => $"- {goal}\n")));
    }

    /// <summary>A table, without a heading.</summary>
    public static string Table(IReadOnlyList<string> labels, IReadOnlyList<string> figures, IEnumerable<IReadOnlyList<string>> rows) =>
        $"{Row([.. labels, .. figures])}|{string.Concat(labels.Select(static _ => "---|"))}{string.Concat(figures.Select(static _ => "---:|"))}\n"
            + string.Concat(rows.Select(Row));

    /// <summary>Keeps a table as it was, with its own provenance: it was not measured this time.</summary>
    public void Keep(string heading)
    {
        Match section = Regex.Match(_before, $"^{Regex.Escape(Heading(heading))}.*?(?=^## |\\z)", RegexOptions.Multiline | RegexOptions.Singleline);
        _page.Append(section.Success ? $"\n{section.Value.TrimEnd('\n')}\n" : "");
    }

    /// <summary>The middle one of a figure over the rounds.</summary>
    public static double Median<T>(IEnumerable<T> rounds, Func<T, double> figure) => Spread.Of(rounds.Select(figure)).Median;

    /// <summary>The last word about a goal.</summary>
    public static string Verdict(bool isMet) => isMet ? "met" : "**missed**";

    public override string ToString() => PageAnswer.Put(_page.ToString());

    private static string Heading(string text) => $"## {char.ToUpperInvariant(text[0])}{text[1..]}\n";

    private static string Row(IReadOnlyList<string> cells) => $"|{string.Concat(cells.Select(static cell => cell.Length == 0 ? " |" : $" {cell} |"))}\n";
}
