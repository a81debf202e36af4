using Spectre.Console;
using Weir.Cli.Hosting;
using Weir.Cli.Output;
using Weir.Lab.Resources;

namespace Weir.Cli.Load.Report;

/// <summary>Writes the table over all arms, and how to read it.</summary>
internal static class LoadTable
{
    private const string Nothing = "-";
    private const long Million = 1_000_000;

    // What the table needs with its ratio columns: a narrower console would break its lines in the middle of numbers.
    private const int LeastWidth = 140;

    public static void Write(LoadReport report, CliHost host)
    {
        IAnsiConsole console = Consoles.Create(host.Out, host.OutIsTerminal);
        console.Profile.Width = Math.Max(host.Width, LeastWidth);

        Table table = new Table().Border(TableBorder.Simple);
        foreach ((string title, Func<LoadRow, string> cell) in Columns(report))
        {
            TableColumn column = new(new Text(title, new Style(decoration: Decoration.Bold))) { NoWrap = true };
            table.AddColumn(title == "runtime" ? column : column.RightAligned());
        }

        foreach (LoadRow row in report.Rows)
        {
            table.AddRow(Columns(report).Select(column => new Text(row.IsMeasured || column.Title == "runtime" ? column.Cell(row) : Nothing)));
        }

        console.Write(table);
        foreach (string line in Legend(report))
        {
            host.Out.WriteLine(line);
        }
    }

    private static List<(string Title, Func<LoadRow, string> Cell)> Columns(LoadReport report)
    {
        List<(string, Func<LoadRow, string>)> columns =
        [
            ("runtime", static row => row.Name + (row.Result.IsPartial ? " (partial)" : "")),
            ("items/s", static row => Numbers.Scaled(row.Result.Rate.Median)),
            ("[min..max]", static row => $"[{Numbers.Scaled(row.Result.Rate.Min, row.Result.Rate.Max)}]"),
            ("ns/item", static row => Numbers.Short(row.Result.NanosecondsPerItem.Median)),
            ("above direct", static row => Optional(row.AboveDirect, static value => (value > 0 ? "+" : "") + Numbers.Short(value))),
            ("B/item", static row => Numbers.Short(Math.Max(0, row.BytesPerItem))),
            ("CPU s/M", static row => Numbers.Short(row.CpuSecondsPerMillion)),
            ("GC 0/1/2 per M", static row => Collections(row)),
        ];
        if (report.Knobs.Peers)
        {
            columns.Add(("x loop", static row => Optional(row.ToLoop, Numbers.Short)));
            columns.Add(("x ForEachAsync", static row => Optional(row.ToForEachAsync, Numbers.Short)));
        }

        return columns;
    }

    private static string Optional(double? value, Func<double, string> write) => value is { } known ? write(known) : Nothing;

    private static string Collections(LoadRow row)
    {
        string Per(Func<ResourceUse, double> count) => Numbers.Short(row.Result.Per(count, Million));
        return $"{Per(static r => r.Gen0)}/{Per(static r => r.Gen1)}/{Per(static r => r.Gen2)}";
    }

    private static IEnumerable<string> Legend(LoadReport report)
    {
        int trials = report.Knobs.Trials;
        string windows = trials == 1 ? "one window" : $"{trials} windows, taken in turns with the others";
        yield return $"items/s: median [min..max] of {windows}. ns/item: time on the wall. above direct: ns/item beyond direct's.";
        yield return "Bytes, CPU seconds per million items and collections by generation: of the whole process, with the work itself.";
        if (report.Knobs.Peers)
        {
            yield return $"x loop, x ForEachAsync: times as many items/s. The peers have up to {Numbers.Grouped(report.Knobs.PeerDegree)} items under way, and store each result in an array, too.";
        }

        yield return $"peak_rss={Numbers.Bytes(report.PeakResidentBytes)}";
    }
}
