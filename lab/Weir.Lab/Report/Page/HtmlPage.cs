namespace Weir.Lab.Report.Page;

/// <summary>Writes results as one page that needs nothing else: no network, no script, no other file.</summary>
internal static class HtmlPage
{
    // One drawing for a screen and one for a phone: a scaled one would have letters of five pixels there.
    private const int Wide = 920;
    private const int Narrow = 340;

    /// <summary>Writes the page.</summary>
    /// <param name="results">The results, at least one, in the order in which they are to stand.</param>
    public static string Write(IReadOnlyList<ResultFile> results)
    {
        StringBuilder page = new();
        string title = results.Count == 1 ? $"weir {results[0].Command}: {results[0].Work}" : $"weir report: {results.Count} results";
        Begin(page, title);
        if (results.Count > 1)
        {
            page.Append("<h1>").Append(Html(title)).Append("</h1>\n<nav aria-label=\"Results\"><ol>\n");
            for (int i = 0; i < results.Count; i++)
            {
                page.Append($"<li><a href=\"#{Prefix(results, i)}answer\">{Html($"weir {results[i].Command}: {results[i].Work}")}</a></li>\n");
            }

            page.Append("</ol></nav>\n");
        }

        for (int i = 0; i < results.Count; i++)
        {
            Append(page, results[i], Prefix(results, i), results.Count == 1 ? 1 : 2);
        }

        return End(page);
    }

    internal static void Begin(StringBuilder page, string title) =>
        page.Append(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
            .Append("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>")
            .Append(Html(title))
            .Append("</title>\n<style>\n")
            .Append(PageStyle.Css)
            .Append("</style>\n</head>\n<body>\n")
            .Append("<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<main id=\"main\">\n");

    internal static string End(StringBuilder page) => page.Append("</main>\n</body>\n</html>\n").ToString();

    private static string Prefix(IReadOnlyList<ResultFile> results, int index) => results.Count == 1 ? "" : $"r{index + 1}-";

    private static void Append(StringBuilder page, ResultFile result, string prefix, int level)
    {
        string where = FormattableString.Invariant($"{result.StartedAt:yyyy-MM-dd HH:mm zzz}, {result.Seconds:0} s; {result.Machine.Cores} cores, ")
            + $"{result.Machine.Cpu}, .NET {result.Machine.Dotnet}, environment {result.Machine.Hash}";
        Answer answer = Answer.Of(result);
        page.Append($"<article>\n<header id=\"{prefix}answer\">\n<h{level}>{Html(answer.Sentence)}</h{level}>\n");
        if (answer.Ground.Length > 0)
        {
            page.Append($"<p class=\"lead\">{Html(answer.Ground)}</p>\n");
        }

        Badges(page, result);
        page.Append($"<p class=\"quiet\">{Html($"weir {result.Command}: {result.Work}. {where}")}</p>\n</header>\n");

        // One picture, the tables, what to know of them; then the other pictures.
        Figure[] figures = [.. Figures(result)];
        Append(page, figures.Take(1), prefix, level + 1);
        foreach (Table table in ResultTables.OfRounds(result))
        {
            Section(page, prefix + Slug(table.Title), table.Title, level + 1, () => Append(page, table, caption: false));
        }

        if (result.Findings.Count > 0)
        {
            Section(page, $"{prefix}findings", "What to know", level + 1, () => Findings(page, result));
        }

        Append(page, figures.Skip(1), prefix, level + 1);
        ArmRecord[] profiled = [.. result.Arms.Where(static a => a.Profile is not null)];
        for (int i = 0; i < profiled.Length; i++)
        {
            (ArmRecord arm, string id) = (profiled[i], FormattableString.Invariant($"{prefix}profile-{i + 1}"));
            Section(page, id, $"Profile: {arm.Label}", level + 1, () => ProfilePart.Append(page, arm, arm.Profile!, id));
        }

        Section(page, $"{prefix}environment", "Environment, settings and how to repeat it", level + 1, () => Environment(page, result));
        Section(page, $"{prefix}data", "Raw data", level + 1, () => Raw(page, result, prefix));
        page.Append("</article>\n");
    }

    // First that which shows the answer.
    private static IEnumerable<Figure> Figures(ResultFile result) => !result.Arms.Any(static a => a.IsMeasured) ? [] : new[]
    {
        RatioFigure.Make(result), ThroughputFigure.Make(result),
    }
        .Concat(ParameterFigure.All(result))
        .Concat(
        [
            RatesFigure.Make(result), SpectrumFigure.Make(result), DistributionFigure.Make(result), DepthFigure.Make(result), RoundsFigure.Make(result),
            TimelineFigure.Make(result), ResourcesFigure.Make(result), WorkersFigure.Make(result),
        ]).OfType<Figure>();

    private static void Append(StringBuilder page, IEnumerable<Figure> figures, string prefix, int level)
    {
        foreach (Figure figure in figures)
        {
            Section(page, prefix + figure.Id, figure.Title, level, () => Append(page, figure, prefix));
        }
    }

    internal static void Section(StringBuilder page, string id, string title, int level, Action content)
    {
        page.Append($"<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h{level} id=\"{id}-h\">{Html(title)}</h{level}>\n");
        content();
        page.Append("</section>\n");
    }

    private static void Badges(StringBuilder page, ResultFile result)
    {
        page.Append("<p class=\"badges\">");
        foreach ((string kind, string text) in PageBadges.Of(result))
        {
            page.Append("<span class=\"badge ").Append(kind).Append("\">").Append(Html(text)).Append("</span> ");
        }

        page.Append("</p>\n");
    }

    private static void Findings(StringBuilder page, ResultFile result)
    {
        page.Append("<ul class=\"findings\">\n");
        foreach (Finding finding in result.Findings)
        {
            page.Append("<li class=\"").Append(finding.Level.ToString().ToLowerInvariant()).Append("\">").Append(Html(finding.Text)).Append("</li>\n");
        }

        page.Append("</ul>\n");
    }

    internal static void Append(StringBuilder page, Figure figure, string prefix)
    {
        page.Append("<figure>\n");
        if (figure.Legend.Count > 0)
        {
            page.Append("<ul class=\"legend\">");
            foreach ((int series, string name, bool dashed) in figure.Legend)
            {
                page.Append("<li>").Append(Marker.Legend(series, dashed)).Append(Html(name)).Append("</li>");
            }

            page.Append("</ul>\n");
        }

        for (int i = 0; i < figure.Panels.Count; i++)
        {
            Panel panel = figure.Panels[i];
            if (panel.Title.Length > 0 && figure.Panels.Count > 1)
            {
                page.Append("<p class=\"panel\">").Append(Html(panel.Title)).Append("</p>\n");
            }

            string title = panel.Title.Length > 0 ? $"{figure.Title}, {panel.Title}" : figure.Title;
            foreach ((string kind, int width) in new[] { ("wide", Wide), ("narrow", Narrow) })
            {
                string plot = panel.Draw(width).Svg($"{prefix}{figure.Id}-{i}-{kind}", title, $"{figure.Caption} The figures are in the table below the plot.");
                page.Append($"<div class=\"plot {kind}\">{plot}</div>\n");
            }
        }

        page.Append($"<figcaption>{Html(figure.Caption)}</figcaption>\n</figure>\n")
            .Append($"<details><summary>{Html($"{figure.Title}: the figures as a table")}</summary>\n");
        Append(page, figure.Data, caption: true);
        page.Append("</details>\n");
    }

    internal static void Append(StringBuilder page, Table table, bool caption)
    {
        page.Append("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").Append(Html(table.Title)).Append("\">\n<table>\n");
        if (caption)
        {
            page.Append("<caption>").Append(Html(table.Title)).Append("</caption>\n");
        }

        page.Append("<thead><tr>");
        for (int i = 0; i < table.Columns.Count; i++)
        {
            page.Append("<th scope=\"col\"").Append(i < table.Labels ? "" : " class=\"n\"").Append('>').Append(Html(table.Columns[i])).Append("</th>");
        }

        page.Append("</tr></thead>\n<tbody>\n");
        foreach (IReadOnlyList<string> row in table.Rows)
        {
            page.Append("<tr>");
            for (int i = 0; i < row.Count; i++)
            {
                string verdict = VerdictWords.Find(row[i]) is { } found ? $" {found.ToString().ToLowerInvariant()}" : "";
                page.Append(i == 0 ? "<th scope=\"row\">" : i < table.Labels ? "<td>" : $"<td class=\"n{verdict}\">")
                    .Append(Html(row[i]))
                    .Append(i == 0 ? "</th>" : "</td>");
            }

            page.Append("</tr>\n");
        }

        page.Append("</tbody>\n</table>\n</div>\n");
    }

    private static void Environment(StringBuilder page, ResultFile result)
    {
        MachineRecord machine = result.Machine;
        if (result.Arguments.Count > 0)
        {
            string arguments = string.Join(' ', result.Arguments.Select(ResultMarkdown.Quoted));
            page.Append($"<p>To repeat it:</p>\n<pre class=\"command\" tabindex=\"0\">weir {Html(arguments)}</pre>\n");
        }

        page.Append("<dl>\n");
        (string, string)[] lines =
        [
            ("processor", $"{machine.Cpu}, {machine.Cores} cores"),
            ("system", $"{machine.Os}, {machine.Architecture}"),
            ("memory", Numbers.Bytes(machine.MemoryBytes)),
            (".NET", $"{machine.Dotnet}, {machine.Gc} GC"),
            ("environment hash", machine.Hash),
            .. result.Source is { } source ? [("commit", source.Text)] : Array.Empty<(string, string)>(),
            .. machine.Variables.Select(static v => (v.Key, v.Value)),
            .. result.Settings.Select(static s => (s.Key, s.Value)),
        ];
        foreach ((string name, string value) in lines)
        {
            page.Append("<div><dt>").Append(Html(name)).Append("</dt><dd>").Append(Html(value)).Append("</dd></div>\n");
        }

        page.Append("</dl>\n");
    }

    // In a script element nothing is executed or shown; only what would end the element has to be escaped.
    private static void Raw(StringBuilder page, ResultFile result, string prefix) => page
        .Append("<p>Everything above, unrounded and with the latency histograms, is embedded in this page as JSON, in the element <code>")
        .Append(prefix)
        .Append("result</code>. <code>weir report</code> and <code>weir compare</code> read it from the page as from a result file.</p>\n")
        .Append("<script type=\"application/json\" id=\"").Append(prefix).Append("result\">")
        .Append(JsonSerializer.Serialize(result, ResultJson.Line).Replace("<", "\\u003c", StringComparison.Ordinal))
        .Append("</script>\n");

    private static string Slug(string title) =>
        new([.. title.ToLowerInvariant().Where(static c => char.IsAsciiLetter(c) || c == ' ').Select(static c => c == ' ' ? '-' : c)]);

    internal static string Html(string text) => WebUtility.HtmlEncode(text);
}

/// <summary>The part of the page that shows a profile: the flame graph with its table, and what was allocated.</summary>
internal static class ProfilePart
{
    private const int LongestName = 160;

    public static void Append(StringBuilder page, ArmRecord arm, ProfileRecord profile, string id)
    {
        page.Append("<p class=\"quiet\">").Append(HtmlPage.Html(
            "From one more round after the others, which counts in no other figure. Every millisecond, or less often on a busy machine, the stacks of the "
                + "threads are sampled. Shares are those of the threads that run the work, while they have a processor; what they wait for has a table of its "
                + "own. An inlined method counts for its caller."))
            .Append("</p>\n");
        if (profile.Samples > 0)
        {
            page.Append("<div class=\"scroll flame\" tabindex=\"0\" role=\"region\" aria-label=\"Flame graph\">\n")
                .Append(FlameGraph.Svg(profile, $"{id}-flame", $"Flame graph of {arm.Label}"))
                .Append("\n</div>\n<p class=\"quiet\">A method stands below its caller, and is as wide as the share of the samples in it and in what it "
                    + "called. The whole name and the share appear under the pointer.</p>\n");
        }

        foreach (Table table in ProfileTables.Of(arm, profile, LongestName))
        {
            HtmlPage.Append(page, table, caption: true);
        }
    }
}

/// <summary>What a result is, in a few words each.</summary>
internal static class PageBadges
{
    public static IEnumerable<(string Kind, string Text)> Of(ResultFile result)
    {
        if (result.Has(FindingLevel.Invalid))
        {
            yield return ("bad", "invalid");
        }
        else
        {
            yield return ("good", "valid");
        }

        if (result.Partial)
        {
            yield return ("bad", "partial");
        }

        if (result.Has(FindingLevel.Doubt))
        {
            int doubts = result.Findings.Count(static f => f.Level == FindingLevel.Doubt);
            yield return ("doubt", doubts == 1 ? "1 doubt" : $"{doubts} doubts");
        }

        foreach (IGrouping<Verdict, ComparisonRecord> verdict in result.Comparisons.GroupBy(static c => c.Verdict))
        {
            yield return (verdict.Key switch
                {
                    Verdict.Faster or Verdict.Less => "good",
                    Verdict.Slower or Verdict.More => "bad",
                    Verdict.Inconclusive => "doubt",
                    _ => "plain",
                },
                verdict.Count() == 1 ? VerdictWords.Of(verdict.Key) : $"{verdict.Count()} x {VerdictWords.Of(verdict.Key)}");
        }
    }
}
