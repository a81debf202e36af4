using System.Globalization;
using System.Net;
using System.Text;
using System.Text.RegularExpressions;

namespace Weir.Site.Pictures;

/// <summary>
/// A server under overload, from the page of its results: how much of what it can answer is answered in time, against the load; and what it answers in each
/// second while its capacity changes.
/// </summary>
public static partial class OverloadPicture
{
    /// <summary>Where it is kept.</summary>
    public const string Path = "docs/pictures/overload.svg";

    /// <summary>The page that it is drawn from.</summary>
    public const string Page = "docs/results/overload.md";

    private const int Width = 920;
    private const int Height = 400;
    private const int Top = 64;
    private const int Bottom = 352;
    private const double LeastLoad = 0.5;
    private const double MostLoad = 10;

    private static readonly (int Left, int Right) Loads = (56, 410);
    private static readonly (int Left, int Right) Times = (486, 890);

    // The arms, by their columns in both tables.
    private static readonly (string Name, string Kind)[] Arms = [("nothing", "nothing"), ("Polly", "polly"), ("fixed limit", "fixed"), ("Weir", "weir")];

    /// <param name="root">The folder of the repository.</param>
    /// <exception cref="SiteException">The page has not the tables.</exception>
    public static string Draw(string root) => Of(File.ReadAllText(System.IO.Path.Combine(root, Page)).ReplaceLineEndings("\n"));

    /// <param name="page">The page of the results.</param>
    public static string Of(string page)
    {
        double[][] loads = Table(page, "the server notices", "load").Where(static row => row[0] == "yes").Select(static row => Numbers(row[1..])).ToArray();
        double[][] seconds = Table(page, "second of two minutes", "capacity").Select(static row => Numbers(row)).ToArray();
        StringBuilder body = new();
        for (int percent = 0; percent <= 100; percent += 25)
        {
            double y = Y(percent / 100.0);
            Line(body, "grid", Loads.Left, y, Loads.Right, y);
            Text(body, "tick end", Loads.Left - 8, y + 4, $"{percent} %");
        }

        foreach (double[] row in loads)
        {
            Line(body, "grid", X(row[0]), Top, X(row[0]), Bottom);
            Text(body, "tick", X(row[0]), Bottom + 18, $"{row[0].ToString(CultureInfo.InvariantCulture)}×");
        }

        double most = seconds.Max(static row => row[1..^1].Max());
        double At(double second) => Times.Left + ((Times.Right - Times.Left) * second / 120);
        double Of(double answers) => Y(answers / most);
        for (int answers = 0; answers <= most; answers += 100)
        {
            Line(body, "grid", Times.Left, Of(answers), Times.Right, Of(answers));
            Text(body, "tick end", Times.Left - 8, Of(answers) + 4, answers.ToString(CultureInfo.InvariantCulture));
        }

        for (int second = 0; second <= 120; second += 30)
        {
            Text(body, "tick", At(second), Bottom + 18, $"{second} s");
        }

        // The capacity lies behind the arms, as steps.
        IEnumerable<(double, double)> steps = seconds.SelectMany(row => ((double, double)[])[(At(row[0]), Of(row[1])), (At(row[0] + 5), Of(row[1]))]);
        Curve(body, "capacity", steps);
        for (int arm = 0; arm < Arms.Length; arm++)
        {
            Curve(body, Arms[arm].Kind, loads.Select(row => (X(row[0]), Y(Math.Min(1, row[1 + arm])))));
            Curve(body, Arms[arm].Kind, seconds.Select(row => (At(row[0] + 2.5), Of(row[2 + arm]))));
            int x = 16 + (arm * 130);
            Line(body, Arms[arm].Kind, x, Height - 10, x + 24, Height - 10);
            Text(body, "name", x + 32, Height - 6, Arms[arm].Name);
        }

        Line(body, "capacity", 560, Height - 10, 584, Height - 10);
        Text(body, "name", 592, Height - 6, "what the server can answer");
        return Frame(body);
    }

    private static string Frame(StringBuilder body) => $$"""
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{Width}} {{Height}}" width="{{Width}}" height="{{Height}}" role="img" aria-labelledby="t">
        <title id="t">What a web server answers in time under more load than it can take, with nothing, Polly, a fixed limit and Weir.</title>
        <style>
        text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1c2430; }
        .back { fill: #ffffff; }
        .title { font-weight: 600; }
        .tick { text-anchor: middle; font-size: 11px; fill: #5a6676; }
        .end { text-anchor: end; }
        .grid { stroke: #d9dfe7; }
        polyline { fill: none; stroke-linejoin: round; }
        polyline, line { stroke-width: 2; }
        line.grid { stroke-width: 1; }
        .capacity { stroke: #b8c2ce; stroke-dasharray: 4 3; }
        .nothing { stroke: #7c8796; }
        .polly { stroke: #8a4fbf; }
        .fixed { stroke: #c2571a; }
        .weir { stroke: #0b5cad; stroke-width: 3; }
        @media (prefers-color-scheme: dark) {
          text { fill: #dfe6ee; }
          .back { fill: #12161c; }
          .tick { fill: #97a4b4; }
          .grid { stroke: #2b3441; }
          .capacity { stroke: #4a5668; }
          .nothing { stroke: #97a4b4; }
          .polly { stroke: #c59bea; }
          .fixed { stroke: #f0a36b; }
          .weir { stroke: #79b4f2; }
        }
        </style>
        <rect class="back" width="{{Width}}" height="{{Height}}"/>
        <text class="title" x="16" y="24">Answered in time, of what it can answer</text>
        <text x="16" y="44">against the load</text>
        <text class="title" x="446" y="24">Answered in time in each second, at 600 calls a second</text>
        <text x="446" y="44">while the capacity changes</text>
        {{body}}</svg>

        """.ReplaceLineEndings("\n");

    private static double X(double load) =>
        Loads.Left + ((Loads.Right - Loads.Left) * Math.Log(load / LeastLoad) / Math.Log(MostLoad / LeastLoad));

    private static double Y(double share) => Bottom - ((Bottom - Top) * share);

    private static void Curve(StringBuilder body, string kind, IEnumerable<(double X, double Y)> points) => body.Append(
        CultureInfo.InvariantCulture, $"<polyline class=\"{kind}\" points=\"{string.Join(' ', points.Select(static p => string.Create(CultureInfo.InvariantCulture, $"{p.X:F1},{p.Y:F1}")))}\"/>\n");

    private static void Line(StringBuilder body, string kind, double x1, double y1, double x2, double y2) =>
        body.Append(CultureInfo.InvariantCulture, $"<line class=\"{kind}\" x1=\"{x1:F1}\" y1=\"{y1:F1}\" x2=\"{x2:F1}\" y2=\"{y2:F1}\"/>\n");

    private static void Text(StringBuilder body, string kind, double x, double y, string text) =>
        body.Append(CultureInfo.InvariantCulture, $"<text class=\"{kind}\" x=\"{x:F1}\" y=\"{y:F1}\">{WebUtility.HtmlEncode(text)}</text>\n");

    private static double[] Numbers(string[] cells) => [.. cells.Select(static cell => double.Parse(cell, CultureInfo.InvariantCulture))];

    /// <summary>The rows of the first table whose columns begin with these and whose other columns are the arms.</summary>
    private static string[][] Table(string page, params string[] columns)
    {
        string head = $"| {string.Join(" | ", columns.Concat(Arms.Select(static arm => arm.Name)))} |";
        Match table = Rows().Matches(page).FirstOrDefault(table => table.Value.StartsWith(head, StringComparison.Ordinal))
            ?? throw new SiteException($"{Page} has no table '{head}'.");
        return [.. table.Value.Split('\n', StringSplitOptions.RemoveEmptyEntries)[2..]
            .Select(static row => row.Trim('|').Split('|').Select(static cell => cell.Trim()).ToArray())];
    }

    [GeneratedRegex(@"(?:^\|.*\|\n)+", RegexOptions.Multiline)]
    private static partial Regex Rows();
}
