using System.Text.RegularExpressions;
using Weir.Site.Pictures;

namespace Weir.Site.Figures;

/// <summary>Finds one cell of the tables of a page of results.</summary>
/// <param name="Page">The page in docs/results, without its ending.</param>
/// <param name="Section">What is measured, such as <c>CoreYieldBenchmarks</c>, or a heading of the page; empty for the whole page.</param>
/// <param name="Row">What the first cells of the row have.</param>
/// <param name="Column">What is above the cell.</param>
public sealed record ResultCell(string Page, string Section, string[] Row, string Column)
{
    /// <summary>Reads the cell.</summary>
    /// <param name="text">The page.</param>
    /// <exception cref="SiteException">The page has no such cell.</exception>
    public string Read(string text)
    {
        string[]? header = null;
        foreach (string line in (Part(text, Section) ?? throw Lacks("such section")).Split('\n'))
        {
            string[]? cells = line.StartsWith('|') ? [.. line.Trim().Trim('|').Split('|').Select(static cell => cell.Trim())] : null;
            if (cells is not null && header is not null && Row.SequenceEqual(cells.Take(Row.Length)))
            {
                int column = Array.IndexOf(header, Column);
                return column >= 0 ? cells[column] : throw Lacks($"column '{Column}'");
            }

            header = cells is null ? null : header ?? cells;
        }

        throw Lacks($"row of {string.Join(", ", Row.Select(static cell => $"'{cell}'"))}");
    }

    /// <summary>A section of a page; null if it has none of that name.</summary>
    public static string? Part(string text, string section)
    {
        if (section.Length == 0)
        {
            return text;
        }

        Match headed = Headed(section).Match(text);
        return ResultPage.Section(text, section) ?? (headed.Success ? headed.Groups[1].Value : null);
    }

    /// <summary>A section of a page with its heading and all that follows it; null if the page has none of that name.</summary>
    public static string? Whole(string text, string section) =>
        section.Length == 0
        ? text
        : text.Split("\n## ").Skip(1).FirstOrDefault(
            part => part.StartsWith($"{section}\n", StringComparison.Ordinal) || part.Contains($"\n<!-- measured {section} -->\n", StringComparison.Ordinal));

    private SiteException Lacks(string what) => new($"docs/results/{Page}.md, '{Section}', has no {what}.");

    private static Regex Headed(string heading) => new($"^## {Regex.Escape(heading)}\n(.*?)(?=^## |\\z)", RegexOptions.Singleline | RegexOptions.Multiline);
}
