namespace Weir.Lab.Report.Page;

/// <summary>Writes a history as one page that needs nothing else.</summary>
internal static class HistoryPage
{
    /// <summary>Writes the page.</summary>
    /// <param name="series">The arms, at least one.</param>
    /// <param name="notes">The findings to read before the figures.</param>
    public static string Write(IReadOnlyList<HistorySeries> series, IReadOnlyList<string> notes)
    {
        StringBuilder page = new();
        HtmlPage.Begin(page, "weir history");
        page.Append("<article>\n<header>\n<h1>weir history</h1>\n</header>\n");
        HtmlPage.Section(page, "changes", "What changed", 2, () => Changes(page, series, notes));
        int number = 0;
        foreach (IGrouping<string, HistorySeries> machine in series.GroupBy(static s => s.Machine))
        {
            HistorySeries[] own = [.. machine];
            number++;
            if (HistoryTables.Changes(own) is { } changes)
            {
                HtmlPage.Section(page, $"changes-{number}", changes.Title, 2, () => HtmlPage.Append(page, changes, caption: false));
            }

            Figure figure = HistoryFigure.Make($"rates-{number}", own);
            HtmlPage.Section(page, figure.Id, figure.Title, 2, () => HtmlPage.Append(page, figure, ""));
            Table arms = HistoryTables.Arms(own);
            HtmlPage.Section(page, $"arms-{number}", arms.Title, 2, () => HtmlPage.Append(page, arms, caption: false));
        }

        page.Append("</article>\n<script type=\"application/json\" id=\"history\">")
            .Append(JsonSerializer.Serialize(series, ResultJson.Line).Replace("<", "\\u003c", StringComparison.Ordinal))
            .Append("</script>\n");
        return HtmlPage.End(page);
    }

    private static void Changes(StringBuilder page, IReadOnlyList<HistorySeries> series, IReadOnlyList<string> notes)
    {
        string[] sentences = [.. series.SelectMany(static s => s.Changes, HistoryTables.Sentence)];
        page.Append("<p class=\"lead\">").Append(HtmlPage.Html(sentences.Length switch { 0 =>
            "No change was found.", 1 => sentences[0], _ => $"{sentences.Length} changes were found. The first: {sentences[0]}" })).Append("</p>\n");
        if (notes.Count > 0)
        {
            page.Append("<ul class=\"findings\">\n");
            foreach (string note in notes)
            {
                page.Append("<li class=\"note\">").Append(HtmlPage.Html(note)).Append("</li>\n");
            }

            page.Append("</ul>\n");
        }
    }
}
