using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace Weir.Site.Pictures;

/// <summary>
/// The table of small programs over blocks, on the page of the blocks: what each of them costs with Weir's blocks as a share of what it costs with Microsoft's.
/// It stands between two marks, and is made from the page of results.
/// </summary>
public static partial class ProgramsTable
{
    /// <summary>The page that has the table.</summary>
    public const string Path = "docs/reference/dataflow.md";

    private const string Results = "docs/results/dataflow.md";
    private const string Suite = "DataflowProgramsBenchmarks";
    private const string Begin = "<!-- programs -->\n";
    private const string End = "<!-- /programs -->";

    /// <summary>The page with the table as it has to be.</summary>
    /// <param name="root">The folder of the repository.</param>
    /// <exception cref="SiteException">The page has no marks, or the results lack a figure.</exception>
    public static string Draw(string root)
    {
        string page = Read(root, Path);
        int from = page.IndexOf(Begin, StringComparison.Ordinal) + Begin.Length;
        int to = page.IndexOf(End, StringComparison.Ordinal);
        return from >= Begin.Length && to >= from
            ? string.Concat(page.AsSpan(0, from), Table(Read(root, Results)), page.AsSpan(to))
            : throw new SiteException($"{Path} has no marks '{Begin.Trim()}' and '{End}' around a table.");
    }

    /// <summary>The table, from a page of results.</summary>
    /// <exception cref="SiteException">The page lacks a figure.</exception>
    public static string Table(string results)
    {
        string section = ResultPage.Section(results, Suite) ?? "";
        Dictionary<(string, string), Match> rows = Row().Matches(section).ToDictionary(static row => (row.Groups["case"].Value, row.Groups["maker"].Value));
        StringBuilder table = new("| program | processor time | least to most | time | B a line | in-box |\n|---|---:|---:|---:|---:|---:|\n");
        MatchCollection processor = Processor().Matches(section);
        foreach (Match line in processor)
        {
            string name = line.Groups["case"].Value;
            Match weir = rows.GetValueOrDefault((name, "Weir")) ?? throw Lacks(name);
            Match inBox = rows.GetValueOrDefault((name, "InBox")) ?? throw Lacks(name);
            table.Append(CultureInfo.InvariantCulture, $"| {name} | {Share(line, "ratio")} | {Share(line, "least")} to {Share(line, "most")} ");
            table.Append(CultureInfo.InvariantCulture, $"| {Share(weir, "ratio")} | {Bytes(weir)} | {Bytes(inBox)} |\n");
        }

        return processor.Count > 0 ? table.ToString() : throw Lacks("any program");
    }

    private static string Read(string root, string path) => File.ReadAllText(System.IO.Path.Combine(root, path)).ReplaceLineEndings("\n");

    private static SiteException Lacks(string what) => new($"{Results} has no figures of {Suite} for {what}.");

    private static string Share(Match match, string group) =>
        double.Parse(match.Groups[group].Value, CultureInfo.InvariantCulture).ToString("0.00", CultureInfo.InvariantCulture);

    private static string Bytes(Match row) =>
        double.Parse(row.Groups["bytes"].Value, CultureInfo.InvariantCulture).ToString("N0", CultureInfo.InvariantCulture);

    [GeneratedRegex(
        @"^\| (?<case>[^|]*?) \| \w+_(?<maker>Weir|InBox) \| [^|]* \| [^|]* \| (?<ratio>[\d.]+)[^|]* \| [^|]* \| (?<bytes>[\d.]+) \|",
        RegexOptions.Multiline)]
    private static partial Regex Row();

    [GeneratedRegex(
        @"^- (?<case>[^:]*): \w+ takes at most 1x the processor time of \w+: (?<ratio>[\d.]+)x \[(?<least>[\d.]+)x?\.\.(?<most>[\d.]+)x?\]",
        RegexOptions.Multiline)]
    private static partial Regex Processor();
}
