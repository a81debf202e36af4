using System.Globalization;
using System.Net;
using System.Text;
using Weir.Site.Pages;

namespace Weir.Site.Pictures;

/// <summary>
/// Weir beside its peers, from the pages of results: for each work, how many times as long as Weir each of them takes, with the least and the most of all
/// rounds. The scale is logarithmic.
/// </summary>
public static class PeersPicture
{
    /// <summary>Where it is kept.</summary>
    public const string Path = "docs/pictures/peers.svg";

    private const int Width = 860;
    private const int Left = 250;
    private const int Right = 90;
    private const int Line = 19;
    private const int Top = 62;
    private const double Least = 0.5;
    private const double Most = 200;

    private static readonly (string Page, string Suite, string Case, string Title, string Weir, (string Arm, string Name)[] Peers)[] Works =
    [
        ("core", "CoreSyncItemsBenchmarks", "N=1000, Source=List", "1,000 items that complete at once, to a list", "SelectParallel",
            [
                ("AwaitLoop", "plain loop"), ("WhenAllSemaphore", "Task.WhenAll and a semaphore"), ("ChannelAndWorkers", "channel and workers"),
                ("ParallelForEachAsync", "Parallel.ForEachAsync"),
            ]),
        ("core", "CoreYieldBenchmarks", "", "1,000 items that yield once, limit 8", "SelectParallel",
            [
                ("AwaitLoop", "plain loop"), ("WhenAllSemaphore", "Task.WhenAll and a semaphore"), ("ChannelAndWorkers", "channel and workers"),
                ("ParallelForEachAsync", "Parallel.ForEachAsync"),
            ]),
        ("core", "CoreFanOutBenchmarks", "N=20", "20 calls of one request, all suspend", "SelectParallel",
            [("WhenAll", "Task.WhenAll, no limit"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
        ("core", "CoreDelayBenchmarks", "", "1,000 waits of 1 ms, limit 32", "SelectParallel",
            [("AwaitLoop", "plain loop"), ("WhenAllSemaphore", "Task.WhenAll and a semaphore"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
        ("core", "CoreCpuBoundBenchmarks", "Work=TenMicroseconds", "5,000 items that compute for 10 µs", "SelectParallel",
            [("AwaitLoop", "plain loop"), ("ParallelFor", "Parallel.For"), ("ParallelForEachAsync", "Parallel.ForEachAsync")]),
        ("dataflow", "DataflowPostBenchmarks", "N=6000000, Post", "6 million posts to an ActionBlock", "Post_Weir",
            [("Post_InBox", "System.Threading.Tasks.Dataflow"), ("Post_Channel", "channel and a reader")]),
        ("dataflow", "DataflowNetworkBenchmarks", "N=6000000, Four transforms, action", "6 million messages through four TransformBlocks", "Transform4_Weir",
            [("Transform4_InBox", "System.Threading.Tasks.Dataflow")]),
    ];

    /// <param name="root">The folder of the repository.</param>
    /// <exception cref="SiteException">A row that the picture shows is not in the results.</exception>
    public static string Draw(string root)
    {
        Dictionary<string, ResultRow[]> pages = Works.Select(static w => w.Page).Distinct().ToDictionary(
            static page => page, page => ResultPage.Read(File.ReadAllText(System.IO.Path.Combine(root, "docs", "results", page + ".md"))).ToArray());
        StringBuilder body = new();
        int y = Top;
        foreach (var work in Works)
        {
            ResultRow Find(string arm) => 
                pages[work.Page].SingleOrDefault(r => r.Suite == work.Suite && r.Case == work.Case && r.Arm == arm)
                ?? throw new SiteException($"docs/results/{work.Page}.md has no row of {work.Suite}, '{work.Case}', {arm}.");
            ResultRow weir = Find(work.Weir);
            y += 14;
            Text(body, 16, y, "title", work.Title);
            y += Line;
            Row(body, y, "Weir", weir, weir, "weir", Time(weir.Median));
            foreach ((string arm, string name) in work.Peers)
            {
                y += Line;
                ResultRow peer = Find(arm);
                Row(body, y, name, peer, weir, "peer", $"{Times(peer.Median / weir.Median)}×");
            }

            y += Line;
        }

        return Frame(body, y + 12);
    }

    private static string Frame(StringBuilder body, int height)
    {
        StringBuilder axis = new();
        foreach (double at in (double[])[0.5, 1, 2, 5, 10, 20, 50, 100, 200])
        {
            string kind = at == 1 ? "one" : "grid";
            axis.Append(CultureInfo.InvariantCulture, $"<line class=\"{kind}\" x1=\"{X(at):F1}\" y1=\"{Top - 6}\" x2=\"{X(at):F1}\" y2=\"{height - 8}\"/>\n");
            axis.Append(CultureInfo.InvariantCulture, $"<text class=\"tick\" x=\"{X(at):F1}\" y=\"{Top - 12}\">{Times(at)}×</text>\n");
        }

        return $$"""
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{Width}} {{height}}" width="{{Width}}" height="{{height}}" role="img" aria-labelledby="t">
            <title id="t">How many times as long as Weir its peers take. Points are medians, lines go from the least to the most of all rounds.</title>
            <style>
            text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1c2430; }
            .back { fill: #ffffff; }
            .title { font-weight: 600; stroke: #ffffff; stroke-width: 4; paint-order: stroke; }
            .name { text-anchor: end; fill: #5a6676; }
            .tick { text-anchor: middle; font-size: 11px; fill: #5a6676; }
            .value { font-size: 12px; }
            .grid { stroke: #d9dfe7; }
            .one { stroke: #0b5cad; stroke-width: 1.5; }
            .weir { fill: #0b5cad; stroke: #0b5cad; }
            .peer { fill: #c2571a; stroke: #c2571a; }
            line.weir, line.peer { stroke-width: 2; stroke-opacity: .45; }
            @media (prefers-color-scheme: dark) {
              text { fill: #dfe6ee; }
              .back { fill: #12161c; }
              .title { stroke: #12161c; }
              .name, .tick { fill: #97a4b4; }
              .grid { stroke: #2b3441; }
              .one { stroke: #79b4f2; }
              .weir { fill: #79b4f2; stroke: #79b4f2; }
              .peer { fill: #f0a36b; stroke: #f0a36b; }
            }
            </style>
            <rect class="back" width="{{Width}}" height="{{height}}"/>
            <text class="title" x="16" y="24">Time for the same work, as a multiple of Weir's (further left is faster)</text>
            {{axis}}{{body}}</svg>

            """.ReplaceLineEndings("\n");
    }

    private static void Row(StringBuilder body, int y, string name, ResultRow row, ResultRow weir, string kind, string value)
    {
        double from = X(row.Least / weir.Median);
        double to = X(row.Most / weir.Median);
        Text(body, Left - 14, y, "name", name);
        body.Append(CultureInfo.InvariantCulture, $"<line class=\"{kind}\" x1=\"{from:F1}\" y1=\"{y - 4}\" x2=\"{to:F1}\" y2=\"{y - 4}\"/>\n");
        body.Append(CultureInfo.InvariantCulture, $"<circle class=\"{kind}\" cx=\"{X(row.Median / weir.Median):F1}\" cy=\"{y - 4}\" r=\"4\"/>\n");
        Text(body, (int)Math.Ceiling(Math.Max(to, X(row.Median / weir.Median))) + 9, y, "value", value);
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
}
