using System.Globalization;
using System.Net;
using System.Text;

namespace Weir.Site.Pictures;

/// <summary>
/// Weir beside its peers, from the pages of results: for each work, how many times as long as Weir each of them takes, with the least and the most of all
/// rounds. The scale is logarithmic.
/// </summary>
public static class PeersPicture
{
    /// <summary>Where it is kept.</summary>
    public const string Path = "docs/pictures/peers.svg";

    private const int Width = 920;
    private const int Left = 470;
    private const int Right = 100;
    private const int Line = 17;
    private const int Top = 56;
    private const double Least = 0.5;
    private const double Most = 200;

    // What lasts long in real programs, and what they pay beside it.
    private static readonly (string Title, Work[] Works)[] Groups =
    [
        ("Real work: calls that wait or compute",
            [
                new("core", "CoreDelayBenchmarks", "", "1,000 waits of 1 ms, limit 32", "SelectParallel",
                    [("AwaitLoop", "plain loop"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
                new("core", "CoreCpuBoundBenchmarks", "Work=TenMicroseconds", "5,000 items of 10 µs on two cores", "SelectParallel",
                    [("ParallelFor", "Parallel.For"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
                new("dataflow", "DataflowProgramsBenchmarks", "Transform that computes, action", "Two blocks, 50,000 messages", "Slow_Weir",
                    [("Slow_InBox", "the platform's Dataflow")]),
            ]),
        ("Hardly any work: what an item costs",
            [
                new("core", "CoreFanOutBenchmarks", "N=20", "20 calls that suspend once", "SelectParallel",
                    [("WhenAll", "Task.WhenAll, no limit"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
                new("core", "CoreYieldBenchmarks", "", "1,000 items that yield once, limit 8", "SelectParallel",
                    [("AwaitLoop", "plain loop"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
                new("core", "CoreSyncItemsBenchmarks", "N=1000, Source=List", "1,000 items that complete at once", "SelectParallel",
                    [("AwaitLoop", "plain loop"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
                new("dataflow", "DataflowPostBenchmarks", "N=6000000, Post", "6 million posts to an ActionBlock", "Post_Weir",
                    [("Post_InBox", "the platform's Dataflow"), ("Post_Channel", "channel and a reader")]),
            ]),
    ];

    /// <param name="root">The folder of the repository.</param>
    /// <exception cref="SiteException">A row that the picture shows is not in the results.</exception>
    public static string Draw(string root)
    {
        Dictionary<string, ResultRow[]> pages = Groups.SelectMany(static g => g.Works).Select(static w => w.Page).Distinct().ToDictionary(
            static page => page, page => ResultPage.Read(File.ReadAllText(System.IO.Path.Combine(root, "docs", "results", page + ".md"))).ToArray());
        StringBuilder body = new();
        int y = Top;
        foreach ((string title, Work[] works) in Groups)
        {
            y += Line + 3;
            Text(body, 16, y, "title", title);
            foreach (Work work in works)
            {
                ResultRow weir = work.Find(pages, work.Weir);
                y += Line + 2;
                Text(body, 16, y, "work", work.Title);
                Text(body, 16, y + Line - 2, "own", $"Weir: {Time(weir.Median)}");
                foreach ((string arm, string name) in work.Peers)
                {
                    Row(body, y, name, work.Find(pages, arm), weir);
                    y += Line;
                }

                // The second line of a work with one peer is Weir's time alone.
                y += work.Peers.Length == 1 ? 0 : -Line;
            }
        }

        return Frame(body, y + 10);
    }

    private static string Frame(StringBuilder body, int height)
    {
        StringBuilder axis = new();
        foreach (double at in (double[])[0.5, 1, 2, 5, 10, 20, 50, 100, 200])
        {
            string kind = at == 1 ? "one" : "grid";
            axis.Append(CultureInfo.InvariantCulture, $"<line class=\"{kind}\" x1=\"{X(at):F1}\" y1=\"{Top - 4}\" x2=\"{X(at):F1}\" y2=\"{height - 6}\"/>\n");
            axis.Append(CultureInfo.InvariantCulture, $"<text class=\"tick\" x=\"{X(at):F1}\" y=\"{Top - 9}\">{Times(at)}×</text>\n");
        }

        return $$"""
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{Width}} {{height}}" width="{{Width}}" height="{{height}}" role="img" aria-labelledby="t">
            <title id="t">How many times as long as Weir its peers take. Points are medians, lines go from the least to the most of all rounds.</title>
            <style>
            text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1c2430; }
            .back { fill: #ffffff; }
            .title { font-weight: 600; }
            .own { font-size: 11px; fill: #0b5cad; }
            .name { text-anchor: end; fill: #5a6676; }
            .tick { text-anchor: middle; font-size: 11px; fill: #5a6676; }
            .value { font-size: 12px; }
            .grid { stroke: #d9dfe7; }
            .one { stroke: #0b5cad; stroke-width: 1.5; }
            .peer { fill: #c2571a; stroke: #c2571a; }
            line.peer { stroke-width: 2; stroke-opacity: .45; }
            @media (prefers-color-scheme: dark) {
              text { fill: #dfe6ee; }
              .back { fill: #12161c; }
              .own { fill: #79b4f2; }
              .name, .tick { fill: #97a4b4; }
              .grid { stroke: #2b3441; }
              .one { stroke: #79b4f2; }
              .peer { fill: #f0a36b; stroke: #f0a36b; }
            }
            </style>
            <rect class="back" width="{{Width}}" height="{{height}}"/>
            <text class="title" x="16" y="22">Time for the same work, as a multiple of Weir's (right of 1× is slower than Weir)</text>
            {{axis}}{{body}}</svg>

            """.ReplaceLineEndings("\n");
    }

    private static void Row(StringBuilder body, int y, string name, ResultRow row, ResultRow weir)
    {
        double from = X(row.Least / weir.Median);
        double to = X(row.Most / weir.Median);
        double at = X(row.Median / weir.Median);
        Text(body, Left - 14, y, "name", name);
        body.Append(CultureInfo.InvariantCulture, $"<line class=\"peer\" x1=\"{from:F1}\" y1=\"{y - 4}\" x2=\"{to:F1}\" y2=\"{y - 4}\"/>\n");
        body.Append(CultureInfo.InvariantCulture, $"<circle class=\"peer\" cx=\"{at:F1}\" cy=\"{y - 4}\" r=\"4\"/>\n");
        Text(body, (int)Math.Ceiling(Math.Max(to, at)) + 9, y, "value", $"{Times(row.Median / weir.Median)}×");
    }

    private static void Text(StringBuilder body, int x, int y, string kind, string text) =>
        body.Append(CultureInfo.InvariantCulture, $"<text class=\"{kind}\" x=\"{x}\" y=\"{y}\">{WebUtility.HtmlEncode(text)}</text>\n");

    private static double X(double ratio) =>
        Left + ((Width - Left - Right) * Math.Log(Math.Clamp(ratio, Least, Most) / Least) / Math.Log(Most / Least));

    private static string Times(double ratio) => ratio >= 10
        ? ratio.ToString("F0", CultureInfo.InvariantCulture)
        : ratio.ToString("0.##", CultureInfo.InvariantCulture);

    private static string Time(double seconds) => seconds switch
    {
        < 1e-6 => $"{(seconds * 1e9).ToString("G3", CultureInfo.InvariantCulture)} ns",
        < 1e-3 => $"{(seconds * 1e6).ToString("G3", CultureInfo.InvariantCulture)} µs",
        < 1 => $"{(seconds * 1e3).ToString("G3", CultureInfo.InvariantCulture)} ms",
        _ => $"{seconds.ToString("G3", CultureInfo.InvariantCulture)} s",
    };

    private sealed record Work(string Page, string Suite, string Case, string Title, string Weir, (string Arm, string Name)[] Peers)
    {
        public ResultRow Find(Dictionary<string, ResultRow[]> pages, string arm) =>
            pages[Page].SingleOrDefault(r => r.Suite == Suite && r.Case == Case && r.Arm == arm)
            ?? throw new SiteException($"docs/results/{Page}.md has no row of {Suite}, '{Case}', {arm}.");
    }
}
