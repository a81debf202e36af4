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
        page.Append("<article>\n<header id=\"answer\">\n<h1>").Append(HtmlPage.Html(HistoryTables.Answer(series))).Append("</h1>\n")
            .Append("<p class=\"quiet\">weir history</p>\n</header>\n");
        int number = 0;
        foreach (IGrouping<string, HistorySeries> machine in series.GroupBy(static s => s.Machine))
        {
            HistorySeries[] own = [.. machine];
            number++;
            Figure figure = HistoryFigure.Make($"rates-{number}", own);
            HtmlPage.Section(page, figure.Id, figure.Title, 2, () => HtmlPage.Append(page, figure, ""));
            if (HistoryTables.Changes(own) is { } changes)
            {
                HtmlPage.Section(page, $"changes-{number}", changes.Title, 2, () => HtmlPage.Append(page, changes, caption: false));
            }

            Table arms = HistoryTables.Arms(own);
            HtmlPage.Section(page, $"arms-{number}", arms.Title, 2, () => HtmlPage.Append(page, arms, caption: false));
        }

        if (notes.Count > 0)
        {
            HtmlPage.Section(page, "findings", "What to know", 2, () => Notes(page, notes));
        }

        page.Append("</article>\n<script type=\"application/json\" id=\"history\">")
            .Append(JsonSerializer.Serialize(series, ResultJson.Line).Replace("<", "\\u003c", StringComparison.Ordinal))
            .Append("</script>\n");
        return HtmlPage.End(page);
    }

    private static void Notes(StringBuilder page, IReadOnlyList<string> notes)
    {
        page.Append("<ul class=\"findings\">\n");
        foreach (string note in notes)
        {
            page.Append("<li class=\"note\">").Append(HtmlPage.Html(note)).Append("</li>\n");
        }

        page.Append("</ul>\n");
    }
}
