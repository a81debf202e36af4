using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Weir.Site.Figures;

namespace Weir.Site.Documents;

/// <summary>Makes the pages of docs/documents from their tables: one for each document, and one that counts them and lists what is not here.</summary>
/// <param name="root">The folder of the repository.</param>
public sealed partial class DocumentPages(string root)
{
    private const string Folder = "docs/documents";
    private const string Made = "`eng/pictures` makes this page from";

    private readonly FigureReader _figures = new(root);

    /// <summary>All of them, as they have to be.</summary>
    /// <exception cref="SiteException">A row refers to a page or a figure that is not there.</exception>
    public IEnumerable<(string Path, string Text)> Draw()
    {
        IReadOnlyList<Document> documents = Document.ReadAll(root);
        yield return ($"{Folder}/README.md", Index(documents));
        foreach (Document document in documents)
        {
            yield return ($"{Folder}/{document.Name}.md", Page(document));
        }
    }

    private static string Index(IReadOnlyList<Document> documents)
    {
        StringBuilder page = new("# The five documents, line by line\n\n");
        page.Append("Five published documents set the goals of Weir. Each feature, figure, option and sample of them stands on a page here, with where it\n");
        page.Append("is in this repository, what came out there, and what comes out here. Their machines are others, so compare ratios and bytes rather\n");
        page.Append("than times.\n\n");
        page.Append(CultureInfo.InvariantCulture, $"{Made} the files of `{Document.Folder}`. A test tries each command, page, type and figure,\n");
        page.Append("and whether each line of a document's text is in a row, or is said to have nothing to show.\n\n");
        page.Append("| document | lines of text | with nothing to show | features | with a figure of ours | shown, without one ");
        page.Append("| a figure of theirs alone | not here | *but* | rows that it does not have |\n");
        page.Append("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
        foreach (Document document in documents)
        {
            page.Append(CountsOf($"[{document.Title}]({document.Name}.md)", [document]));
        }

        page.Append(CountsOf("all", documents));
        page.Append("\nA feature is in one of the four columns after the number of features. *But* counts those that are here in part or in another way.\n");
        page.Append("The lists have also the rows that no document has.\n");
        (Document Document, DocumentRow Row)[] reasons =
        [
            .. documents.SelectMany(static d => d.Rows.Where(static r => r.Reason.Length > 0).Select(r => (d, r))),
        ];
        page.Append(List("Not here", reasons, static row => row.IsAbsent));
        page.Append(List("Not measured", reasons, static row => !row.IsAbsent && row.IsOnlyTheirs));
        page.Append(List("Here, but", reasons, static row => !row.IsAbsent && !row.IsOnlyTheirs));
        return page.ToString();
    }

    private static string CountsOf(string name, IReadOnlyList<Document> documents)
    {
        DocumentRow[] rows = [.. documents.SelectMany(static d => d.Rows)];
        DocumentRow[] theirs = [.. rows.Where(static r => r.IsTheirs)];
        int[] counts =
        [
            documents.Sum(static d => d.Lines),
            documents.Sum(static d => d.Without.Sum(static aside => DocumentLines.Of(aside.Lines).Count())),
            theirs.Length,
            theirs.Count(static r => r.IsMeasured),
            theirs.Count(static r => r.IsHere && !r.IsMeasured && !r.IsOnlyTheirs),
            theirs.Count(static r => r.IsHere && r.IsOnlyTheirs),
            theirs.Count(static r => r.IsAbsent),
            theirs.Count(static r => r.Reason.Length > 0 && !r.IsAbsent && !r.IsOnlyTheirs),
            rows.Length - theirs.Length,
        ];
        return $"| {name} | {string.Join(" | ", counts.Select(static count => count.ToString("N0", CultureInfo.InvariantCulture)))} |\n";
    }

    private static string List(string title, (Document Document, DocumentRow Row)[] reasons, Func<DocumentRow, bool> isOne)
    {
        (Document Document, DocumentRow Row)[] rows = [.. reasons.Where(reason => isOne(reason.Row))];
        StringBuilder list = new();
        list.Append(CultureInfo.InvariantCulture, $"\n## {title}: {rows.Length}\n\n| document | what it has | why |\n|---|---|---|\n");
        foreach ((Document document, DocumentRow row) in rows)
        {
            list.Append(CultureInfo.InvariantCulture, $"| [{document.Title[..3]}]({document.Name}.md) | {row.Feature} | {row.Reason} |\n");
        }

        return list.ToString();
    }

    private string Page(Document document)
    {
        StringBuilder page = new();
        page.Append(CultureInfo.InvariantCulture, $"# {document.Title}\n\n{Wrapped(document.Introduction)}\n\n");
        page.Append(CultureInfo.InvariantCulture, $"{Made} `{Document.Folder}/{document.Name}.json`. ");
        page.Append("After figures of ours stand the program that they are of, its commit and its processor.\n");
        page.Append("The first column has the lines of the document's text; where it has none, the document does not have the row.\n");
        foreach (DocumentPart part in document.Parts)
        {
            page.Append(CultureInfo.InvariantCulture, $"\n## {part.Title}\n\n");
            page.Append("| lines | what the document has | where it is here | theirs | ours |\n|---|---|---|---|---|\n");
            foreach (DocumentRow row in part.Rows)
            {
                string from = row.From.Length > 0 ? row.From : part.From;
                page.Append(CultureInfo.InvariantCulture, $"| {row.Lines} | {row.Feature} | {Place(row)} | {Filled(row.Theirs, from)} | {Ours(row, from)} |\n");
            }
        }

        if (document.Without.Count > 0)
        {
            page.Append("\n## Lines with nothing to show\n\n| lines | what they have |\n|---|---|\n");
            foreach (DocumentAside aside in document.Without)
            {
                page.Append(CultureInfo.InvariantCulture, $"| {aside.Lines} | {aside.Why} |\n");
            }
        }

        return page.ToString();
    }

    private string Ours(DocumentRow row, string from)
    {
        string[] origins =
        [
            .. Reference().Matches(row.Ours).Select(reference => Full(reference, from).Split(';'))
                .Select(parts => (Page: parts[0].Trim(), Section: parts[1].Trim())).Distinct()
                .Select(parts => $"{_figures.Program(parts.Page, parts.Section)}, {_figures.Origin(parts.Page, parts.Section)}").Distinct(),
        ];
        string figures = Filled(row.Ours, from) + (origins.Length > 0 ? $" ({string.Join("; ", origins)})" : "");
        return row.Reason.Length == 0 ? figures : $"{figures} {Why(row)}".Trim();
    }

    private static string Why(DocumentRow row) => $"*{(row.IsAbsent ? "Not here" : row.IsOnlyTheirs ? "Not measured" : "But")}*: {row.Reason}";

    private string Place(DocumentRow row) => string.Join(
        "; ",
        Items(row.Pages).Select(Link)
            .Concat(Items(row.Types).Select(static name => $"`{name}`"))
            .Concat(row.Command.Length > 0 ? [$"`{row.Command}`"] : [])
            .Concat(Items(row.Tests).Select(static test => $"test `{test}`")));

    private string Link(string target)
    {
        string path = Path.Combine(root, "docs", target.Split('#')[0]);
        string? title = File.Exists(path) ? File.ReadLines(path).FirstOrDefault(static line => line.StartsWith("# ", StringComparison.Ordinal)) : null;
        return title is null ? throw new SiteException($"There is no page docs/{target}.") : $"[{title[2..]}](../{target})";
    }

    private string Filled(string text, string from) => Reference().Replace(text, reference => _figures.Read(Full(reference, from)));

    // A reference that begins with a slash is whole.
    private static string Full(Match reference, string from) => reference.Groups[1].Value switch
    {
        ['/', .. string whole] => whole,
        string rest when from.Length > 0 => $"{from}; {rest}",
        string rest => rest,
    };

    private static string[] Items(string list) => list.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);

    private static string Wrapped(string text) => Line().Replace(text, "$1\n").TrimEnd();

    [GeneratedRegex(@"\{([^{}]+)\}")]
    private static partial Regex Reference();

    [GeneratedRegex(@"(.{1,155})(?: |\z)")]
    private static partial Regex Line();
}
