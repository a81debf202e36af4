using System.Globalization;
using Weir.Cli.Commands.Load.Options;
using Weir.Lab.Formatting;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>The view of a result for people: the settings, the lines of the reference script for each runtime, and a table over all arms.</summary>
internal static class LoadText
{
    public static TextReport Of(ResultFile result, LoadSettings settings)
    {
        IReadOnlyList<LoadRow> rows = LoadRow.Of(result, settings);
        LoadRow[] runtimes = [.. rows.Where(static row => row.Choice is not null)];
        return new TextReport("weir-load")
        {
            Groups = [Settings(result), .. runtimes.Select(row => Figures(row, settings, isOneOfMany: runtimes.Length > 1))],
            Tables = [LoadTable.Of(rows, settings)],
            Lines =
                [.. LoadTable.Legend(result, settings), .. ResultText.Sentences(result.Findings), "", $"peak_rss={Numbers.Bytes(PeakResidentBytes(result))}"],
        };
    }

    /// <summary>The most memory that the process had resident, over all arms.</summary>
    public static long PeakResidentBytes(ResultFile result) =>
        result.Arms.SelectMany(static arm => arm.Rounds).Max(static round => round.PeakResidentBytes) ?? 0;

    private static (string, string)[] Settings(ResultFile result) =>
    [
        ("started_at", result.StartedAt.ToString("yyyy-MM-ddTHH:mm:sszzz", CultureInfo.InvariantCulture)),
        ("dotnet", result.Machine.Dotnet),
        ("machine", $"{result.Machine.Cores} cores, {result.Machine.Cpu}, {result.Machine.Os}, {result.Machine.Architecture}"),
        ("gc", result.Machine.Gc),
        .. result.Machine.Variables.Concat(result.Settings).Select(static s => (s.Key, s.Value)),
        ("work", result.Work),
        .. Partial(result.Partial),
    ];

    private static (string, string)[] Figures(LoadRow row, LoadSettings settings, bool isOneOfMany)
    {
        (string, string)[] name = isOneOfMany ? [("runtime", row.Name)] : [];
        return !row.IsMeasured ? [.. name, ("processed", "0"), .. Partial(true)] :
        [
            .. name,
            ("processed", Numbers.Grouped(row.Processed)),
            ("elapsed", string.Create(CultureInfo.InvariantCulture, $"{row.Elapsed:F6} sec")),
            ("throughput", $"{Numbers.Grouped(row.Rate.Median)} items/sec"),
            ("gc_count", row.GcCount.ToString("#,0.##", CultureInfo.InvariantCulture)),
            .. settings.FailRate > 0 ? [("failed", Numbers.Grouped(row.Failed))] : Array.Empty<(string, string)>(),
            .. settings.Timeout is not null ? [("timed_out", Numbers.Grouped(row.TimedOut))] : Array.Empty<(string, string)>(),
            ("checksum", row.Checksum is { } checksum ? $"{checksum} (verified)" : "none (no pass was completed)"),
            .. row.Arm.Decisions.Select(static decision => ("decision", decision.ToString())),
            .. Partial(row.IsPartial),
        ];
    }

    private static (string, string)[] Partial(bool isPartial) => isPartial ? [("partial", "true")] : [];
}
