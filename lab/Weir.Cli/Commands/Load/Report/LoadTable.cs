using System.Globalization;
using Weir.Cli.Hosting;
using Weir.Lab.Formatting;
using Weir.Lab.Report.Tables;
using Weir.Lab.Resources;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>Writes the table over all arms, and how to read it.</summary>
internal static class LoadTable
{
    private const string Nothing = "-";
    private const long Million = 1_000_000;
    private const string Runtime = "runtime";

    public static void Write(LoadReport report, CliHost host)
    {
        TableText.Write(
            Table.Of(
                "Runtimes",
                1,
                report.Rows,
                [.. Columns(report).Select(static column => (column.Title, (Func<LoadRow, string?>)(row => row.IsMeasured || column.Title == Runtime ? column.Cell(row) : Nothing)))]),
            host.Out,
            host.Style);
        host.Out.WriteLine();
        foreach (string line in Legend(report))
        {
            host.Out.WriteLine(line);
        }
    }

    private static List<(string Title, Func<LoadRow, string> Cell)> Columns(LoadReport report)
    {
        List<(string, Func<LoadRow, string>)> columns =
        [
            (Runtime, static row => row.Name + (row.Result.IsPartial ? " (partial)" : "")),
            ("items/s", static row => Numbers.Scaled(row.Result.Rate.Median)),
            ("[min..max]", static row => $"[{Numbers.Scaled(row.Result.Rate.Min, row.Result.Rate.Max)}]"),
            ("ns/item", static row => Numbers.Short(row.Result.NanosecondsPerItem.Median)),
            ("above direct", static row => Optional(row.AboveDirect, static value => (value > 0 ? "+" : "") + Numbers.Short(value))),
            ("B/item", static row => Numbers.Short(Math.Max(0, row.BytesPerItem))),
            ("CPU s/M", static row => Numbers.Short(row.CpuSecondsPerMillion)),
            ("GC 0/1/2 per M", static row => Collections(row)),
        ];
        if (report.Settings.Peers)
        {
            columns.Add(("x loop", static row => Optional(row.ToLoop, Numbers.Short)));
            columns.Add(("x ForEachAsync", static row => Optional(row.ToForEachAsync, Numbers.Short)));
        }

        return columns;
    }

    private static string Optional(double? value, Func<double, string> write) => value is { } known ? write(known) : Nothing;

    private static string Collections(LoadRow row)
    {
        string Per(Func<ResourceUse, double> count) => row.Result.Per(count, Million).ToString("#,0.##", CultureInfo.InvariantCulture);
        return $"{Per(static r => r.Gen0)}/{Per(static r => r.Gen1)}/{Per(static r => r.Gen2)}";
    }

    private static IEnumerable<string> Legend(LoadReport report)
    {
        int trials = report.Settings.Trials;
        string windows = trials == 1 ? "one window" : $"{(report.IsPartial ? "up to " : "")}{trials} windows that took turns with the others";
        yield return $"items/s       median [min..max] of {windows}";
        yield return "ns/item       time on the wall; above direct: beyond an item of the direct runtime";
        yield return "B, CPU, GC    of the whole process with the work itself; CPU seconds and collections per million items";
        if (report.Settings.Peers)
        {
            yield return "x             times as many items/s as the plain loop, as Parallel.ForEachAsync";
            yield return $"peers         up to {Numbers.Grouped(report.Settings.PeerDegree)} items under way; each result stored in an array in input order, as the runtimes do";
        }

        yield return "";
        yield return $"peak_rss={Numbers.Bytes(report.PeakResidentBytes)}";
    }
}
