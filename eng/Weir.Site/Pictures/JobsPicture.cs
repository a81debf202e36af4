using System.Globalization;
using System.Net;
using System.Text;
using System.Text.RegularExpressions;

namespace Weir.Site.Pictures;

/// <summary>
/// Items of 1 ms in job systems, from the page of results: for each system, how many items a second as a job each, as jobs of 500, and as one job on each
/// runtime. The scale is logarithmic.
/// </summary>
public static partial class JobsPicture
{
    /// <summary>Where it is kept.</summary>
    public const string Path = "docs/pictures/jobs.svg";

    /// <summary>The page that it is drawn from.</summary>
    public const string Page = "docs/results/job-systems.md";

    private const int Width = 920;
    private const int PanelWidth = 460;
    private const int Labels = 168;
    private const int Values = 64;
    private const int Line = 19;
    private const int Top = 52;
    private const double Least = 10;
    private const double Most = 100_000;

    /// <param name="root">The folder of the repository.</param>
    /// <exception cref="SiteException">The page has not the table.</exception>
    public static string Draw(string root) => Of(File.ReadAllText(System.IO.Path.Combine(root, Page)).ReplaceLineEndings("\n"));

    /// <param name="page">The page of the results.</param>
    public static string Of(string page)
    {
        Match table = Table().Match(page);
        IGrouping<string, (string System, string Shape, double Rate)>[] systems =
        [
            .. table.Groups["row"].Captures.Select(static row => row.Value.Trim('|').Split('|').Select(static cell => cell.Trim()).ToArray())
                .Select(static cells => (cells[0], cells[1], double.Parse(cells[^1], NumberStyles.Number, CultureInfo.InvariantCulture)))
                .GroupBy(static row => row.Item1),
        ];
        if (systems.Length == 0)
        {
            throw new SiteException($"{Page} has no rates of items of 1 ms.");
        }

        int panel = ((systems.Max(static system => system.Count()) + 3) * Line) + 4;
        StringBuilder body = new();
        foreach ((int index, IGrouping<string, (string System, string Shape, double Rate)> system) in systems.Index())
        {
            int left = index % 2 * PanelWidth;
            int top = Top + (index / 2 * panel);
            int bottom = top + 8 + (system.Count() * Line);
            Text(body, "title", left + 16, top, system.Key);
            for (double at = Least; at <= Most; at *= 10)
            {
                body.Append(CultureInfo.InvariantCulture, $"<line class=\"grid\" x1=\"{X(left, at):F1}\" y1=\"{top + 8}\" x2=\"{X(left, at):F1}\" y2=\"{bottom}\"/>\n");
                Text(body, "tick", X(left, at), bottom + 14, at >= 1000 ? $"{at / 1000:0} k" : $"{at:0}");
            }

            foreach ((int row, (_, string shape, double rate)) in system.Index())
            {
                int y = top + (Line * (row + 1));
                string kind = shape == "1" ? "single" : shape.StartsWith("all", StringComparison.Ordinal) ? "weir" : "loop";
                Text(body, "name", left + Labels - 12, y + 4, shape == "1" ? "a job each" : shape.StartsWith("all, ", StringComparison.Ordinal) ? shape[5..] : $"jobs of {shape}");
                body.Append(CultureInfo.InvariantCulture, $"<circle class=\"{kind}\" cx=\"{X(left, rate):F1}\" cy=\"{y}\" r=\"5\"/>\n");
                Text(body, "value", X(left, rate) + 10, y + 4, rate.ToString("N0", CultureInfo.InvariantCulture));
            }
        }

        int height = Top + ((systems.Length + 1) / 2 * panel);
        return $$"""
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{Width}} {{height}}" width="{{Width}}" height="{{height}}" role="img" aria-labelledby="t">
            <title id="t">Items of 1 ms a second in four job systems: as a job each, as jobs of 500, and as one job on each of Weir's runtimes. The scale is logarithmic.</title>
            <style>
            text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1c2430; }
            .back { fill: #ffffff; }
            .title { font-weight: 600; }
            .name { text-anchor: end; fill: #5a6676; }
            .tick { text-anchor: middle; font-size: 11px; fill: #5a6676; }
            .value { font-size: 12px; }
            .grid { stroke: #d9dfe7; }
            .single { fill: #c2571a; }
            .loop { fill: #7c8796; }
            .weir { fill: #0b5cad; }
            @media (prefers-color-scheme: dark) {
              text { fill: #dfe6ee; }
              .back { fill: #12161c; }
              .name, .tick { fill: #97a4b4; }
              .grid { stroke: #2b3441; }
              .single { fill: #f0a36b; }
              .loop { fill: #97a4b4; }
              .weir { fill: #79b4f2; }
            }
            </style>
            <rect class="back" width="{{Width}}" height="{{height}}"/>
            <text class="title" x="16" y="24">Items of 1 ms a second: a job each, jobs of 500, one job on a runtime (blue)</text>
            {{body}}</svg>

            """.ReplaceLineEndings("\n");
    }

    private static double X(int left, double rate) =>
        left + Labels + ((PanelWidth - Labels - Values) * Math.Log(Math.Clamp(rate, Least, Most) / Least) / Math.Log(Most / Least));

    private static void Text(StringBuilder body, string kind, double x, double y, string text) =>
        body.Append(CultureInfo.InvariantCulture, $"<text class=\"{kind}\" x=\"{x:F1}\" y=\"{y:F1}\">{WebUtility.HtmlEncode(text)}</text>\n");

    [GeneratedRegex(@"^<!-- measured wait -->\n.*?^\| system \| items a job \| items \| s \| jobs/s \| items/s \|\n\|[-:|]+\|\n(?:(?<row>\|[^\n]*\|)\n)+", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Table();
}
