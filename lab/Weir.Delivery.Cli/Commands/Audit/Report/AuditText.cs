using Weir.Lab.Report.Writing;

namespace Weir.Delivery.Cli.Commands.Audit.Report;

/// <summary>An audit for people.</summary>
internal static class AuditText
{
    public static TextReport Of(AuditReport report) => new(
        $"weir-work audit   {(report.FromTable ? "table to " : "")}{report.Engine}, {Numbers.Counted(report.Workers, "worker")}, seed {report.Seed}")
    {
        Groups = [],
        Tables = report.Rounds.Count == 0 ? [] : [Table(report)],
        Lines = [.. Faults(report), .. Lines(report)],
    };

    /// <summary>The table of the rounds.</summary>
    public static Table Table(AuditReport report) => new(
        "Rounds",
        ["round", "faults", "published", "delivered again", "lost", "applied twice", "out of order", "dead letters", "seconds"],
        [
            .. report.Rounds.Select(static r => Row(r.Round.ToString(Culture), r.Faults.Count, r.Counts, r.Seconds)),
            Row("all", report.Rounds.Sum(static r => r.Faults.Count), report.Total, report.Rounds.Sum(static r => r.Seconds)),
        ]);

    /// <summary>What was found, in sentences.</summary>
    public static IEnumerable<string> Lines(AuditReport report)
    {
        foreach (AuditRoundRecord round in report.Rounds.Where(static r => r.Broken.Count > 0))
        {
            yield return $"BROKEN  round {round.Round}: {string.Join(", ", round.Broken)}.";
        }

        if (report.LeftBehind.Count > 0)
        {
            yield return $"BROKEN  left behind at the end: {string.Join(", ", report.LeftBehind)}.";
        }

        if (!report.IsBroken && report.Rounds.Count > 0)
        {
            yield return Invariant($"KEPT  {report.Total.Published:N0} changes: none lost, each applied exactly once and in the order of its key; ")
                + Invariant($"{report.Total.DeliveredAgain:N0} delivered again. Nothing was left behind.");
        }
    }

    private static readonly System.Globalization.CultureInfo Culture = System.Globalization.CultureInfo.InvariantCulture;

    private static IEnumerable<string> Faults(AuditReport report) =>
        report.Rounds.Select(static r => $"round {r.Round}: {string.Join("; ", r.Faults)}").Append("");

    private static string[] Row(string name, int faults, Checks.AuditCounts counts, double seconds) =>
    [
        name, Numbers.Grouped(faults), Numbers.Grouped(counts.Published), Numbers.Grouped(counts.DeliveredAgain), Numbers.Grouped(counts.Lost),
        Numbers.Grouped(counts.AppliedTwice), Numbers.Grouped(counts.OutOfOrder), Numbers.Grouped(counts.DeadLetters), Invariant($"{seconds:0.0}"),
    ];
}
