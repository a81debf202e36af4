using System.Globalization;
using System.Text.RegularExpressions;
using Weir.Site.Pictures;

namespace Weir.Site.Figures;

/// <summary>
/// Reads figures from the pages of results. A reference has the parts <c>page; section; row; column</c>, with as many parts for the row as tell it from others.
/// A time or bytes may be divided (<c>time a run / 1000</c>), and a number divided by a time is a rate (<c>1000 / time a run</c>). <c>cycles / 1000</c> is the
/// processor time, divided, by the clock that the section says.
/// </summary>
/// <param name="root">The folder of the repository.</param>
public sealed partial class FigureReader(string root)
{
    private readonly Dictionary<string, string> _pages = [];

    /// <summary>What a figure is.</summary>
    /// <exception cref="SiteException">The reference is none, or the results have no such figure.</exception>
    public string Read(string reference)
    {
        string[] parts = [.. reference.Split(';').Select(static part => part.Trim())];
        if (parts.Length < 4)
        {
            throw new SiteException($"A figure must be 'page; section; row; column'; it is '{reference}'.");
        }

        ResultCell Cell(string column) => new(parts[0], parts[1], parts[2..^1], column);
        string[] column = parts[^1].Split(" / ");
        if (column.Length == 2 && decimal.TryParse(column[0], NumberStyles.None, CultureInfo.InvariantCulture, out decimal count))
        {
            return FigureValue.Rate(Cell(column[1]).Read(Page(parts[0])), column[1], count);
        }

        if (column is ["cycles", var messages])
        {
            string page = Page(parts[0]);
            Match clock = Clock().Match(ResultCell.Part(page, parts[1]) ?? "");
            return clock.Success
                ? FigureValue.Cycles(Cell("time a run").Read(page), Cell("cores").Read(page), Number(clock.Groups["clock"].Value), Number(messages))
                : throw new SiteException($"docs/results/{parts[0]}.md, '{parts[1]}', does not say the clock of the processor.");
        }

        decimal divided = column.Length == 1 ? 1 : decimal.Parse(column[1], CultureInfo.InvariantCulture);
        return FigureValue.Of(Cell(column[0]).Read(Page(parts[0])), column[0], divided);
    }

    /// <summary>At which commit and on which processor a section of a page was measured, as the section says, or the page before its sections.</summary>
    public string Origin(string name, string section)
    {
        string page = Page(name);
        string part = ResultCell.Part(page, section) ?? page;
        string[] texts = [part, Head().Match(page).Value];
        Match? First(Regex what) => texts.Select(text => what.Match(text)).FirstOrDefault(static match => match.Success);
        string commit = (First(Measured()) ?? First(Commit()))?.Groups["commit"].Value ?? "";
        string machine = (First(Measured()) ?? First(Machine()))?.Groups["machine"].Value ?? "";
        string noise = part.Contains("**The machine was not quiet", StringComparison.Ordinal) ? ", not quiet" : "";
        return $"{(commit.Length > 0 ? $"`{commit}`" : "no commit there")}, {(machine.Length > 0 ? machine : "no processor there")}{noise}";
    }

    /// <summary>What made the figures of a section: its class of benchmarks, or its command, or that of the page.</summary>
    /// <exception cref="SiteException">Neither says it.</exception>
    public string Program(string name, string section)
    {
        string page = Page(name);
        string part = ResultCell.Whole(page, section) ?? page;
        string head = Head().Match(page).Value;
        Match suite = Suite().Match(part);
        Match command = Command().Match(part);
        Match made = Made().Match(head);
        return suite.Success ? $"`{suite.Groups["name"].Value}`"
            : command.Success ? $"`{command.Groups["command"].Value}`"
            : made.Success ? $"`{made.Groups["command"].Value}`"
            : Command().Match(head) is { Success: true } of ? $"`{of.Groups["command"].Value}`"
            : throw new SiteException($"docs/results/{name}.md, '{section}', does not say which program made its figures.");
    }

    private static decimal Number(string text) => decimal.Parse(text, CultureInfo.InvariantCulture);

    private string Page(string name)
    {
        if (!_pages.TryGetValue(name, out string? page))
        {
            string path = Path.Combine(root, "docs", "results", name + ".md");
            page = File.Exists(path) ? File.ReadAllText(path).ReplaceLineEndings("\n") : throw new SiteException($"There is no page docs/results/{name}.md.");
            _pages.Add(name, page);
        }

        return page;
    }

    [GeneratedRegex("\\bat commit (?<commit>[0-9a-f]{7,10})[0-9a-f]*(?:, [^;\n]*)?;\\s+\\d+ cores(?: of|,) (?<machine>[^,;\n]+)")]
    private static partial Regex Measured();

    [GeneratedRegex(@"^\*\*Suite:\*\* `(?<name>\w+)`", RegexOptions.Multiline)]
    private static partial Regex Suite();

    // Without a remark that follows.
    [GeneratedRegex(@"^    (?<command>(?:\w+=\S+ )*(?:weir|weir-work|weir-audit|eng/tables|eng/bench|\$?dotnet) .*?)(?: {2,}.*)?$", RegexOptions.Multiline)]
    private static partial Regex Command();

    [GeneratedRegex("(?:Generated|Made) by `(?<command>[^`]+?)(?: --output [^` ]+)?`")]
    private static partial Regex Made();

    [GeneratedRegex("; clock (?<clock>[0-9.]+) GHz")]
    private static partial Regex Clock();

    [GeneratedRegex("\\bat commit (?<commit>[0-9a-f]{7,10})")]
    private static partial Regex Commit();

    [GeneratedRegex("^\\d+ cores(?: of|,) (?<machine>[^,;\n]+)", RegexOptions.Multiline)]
    private static partial Regex Machine();

    [GeneratedRegex("^.*?(?=^## |\\z)", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Head();
}
