using System.Globalization;
using Weir.Cli.Commands.Load.Options;
using Weir.Lab.Formatting;
using Weir.Lab.Report.Tables;
using Weir.Lab.Results;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>The table over all arms, and how to read it.</summary>
internal static class LoadTable
{
    private const string Nothing = "-";

    public static Table Of(IReadOnlyList<LoadRow> rows, LoadSettings settings)
    {
        (string, Func<LoadRow, string?>) Column(string title, Func<LoadRow, string> cell) => (title, row => row.IsMeasured ? cell(row) : Nothing);
        return Table.Of(
            "Runtimes",
            1,
            rows,
            [
                ("runtime", static row => row.Name + (row.IsPartial ? " (partial)" : "")),
                Column("items/s", static row => Numbers.Scaled(row.Rate.Median)),
                Column("[min..max]", static row => $"[{Numbers.Scaled(row.Rate.Min, row.Rate.Max)}]"),
                Column("ns/item", static row => Numbers.Short(row.Nanoseconds)),
                Column("above direct", static row => Optional(row.AboveDirect, static value => (value > 0 ? "+" : "") + Numbers.Short(value))),
                Column("B/item", static row => Numbers.Short(Math.Max(0, row.BytesPerItem))),
                Column("CPU s/M", static row => Numbers.Short(row.CpuSecondsPerMillion)),
                Column("GC 0/1/2 per M", static row => $"{Per(row, static r => r.Gen0)}/{Per(row, static r => r.Gen1)}/{Per(row, static r => r.Gen2)}"),
                .. settings.Peers
                    ? [Column("x loop", static row => Optional(row.ToLoop, Numbers.Short)), Column(
                        "x ForEachAsync", static row => Optional(row.ToForEachAsync, Numbers.Short))]
                    : Array.Empty<(string, Func<LoadRow, string?>)>(),
            ]);
    }

    public static IEnumerable<string> Legend(ResultFile result, LoadSettings settings)
    {
        string windows = settings.Trials == 1 ? "one window" : $"{(result.Partial ? "up to " : "")}{settings.Trials} windows that took turns with the others";
        yield return $"items/s       median [min..max] of {windows}";
        yield return "ns/item       elapsed time; above direct: beyond an item of the direct runtime";
        yield return "B, CPU, GC    of the whole process with the work itself; CPU seconds and collections per million items";
        if (settings.Peers)
        {
            yield return "x             items/s relative to the plain loop, and to Parallel.ForEachAsync";
            yield return $"peers         up to {Numbers.Grouped(settings.PeerDegree)} items in flight; each result is stored in an array in input order, as "
                + $"the "
                + $"runtimes do";
        }
    }

    private static string Optional(double? value, Func<double, string> write) => value is { } known ? write(known) : Nothing;

    private static string Per(LoadRow row, Func<RoundRecord, double?> count) => row.PerMillion(count).ToString("#,0.##", CultureInfo.InvariantCulture);
}
