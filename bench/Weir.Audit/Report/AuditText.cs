using Weir.Lab.Report.Writing;

namespace Weir.Audit.Report;

/// <summary>An audit for people.</summary>
internal static class AuditText
{
    public static TextReport Of(AuditReport report) => new(
        $"weir-audit run   {string.Join(", ", report.Scenarios)}; {(report.FromTable ? "table to " : "")}{report.Engine}, "
            + $"{Numbers.Counted(report.Workers, "worker")}, seed {report.Seed}",
        [.. Lines(report)])
    {
        Groups = [],
        Tables = report.Rounds.Count == 0 ? [] : [Table(report)],
        Lines = [.. Faults(report)],
    };

    /// <summary>The table of the rounds.</summary>
    public static Table Table(AuditReport report) => new(
        "Rounds",
        ["round", "faults", "published", "delivered again", "lost", "applied twice", "out of order", "dead letters", "seconds", "recovery"],
        [
            .. report.Rounds.Select(r => Row(Name(report, r), r.Faults.Count, r.Counts, r.Seconds, r.Recovery?.Seconds)),
            Row(
                "all",
                report.Rounds.Sum(static r => r.Faults.Count),
                report.Total,
                report.Rounds.Sum(static r => r.Seconds),
                report.Rounds.Max(static r => r.Recovery?.Seconds)),
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

        foreach (AuditRecoveries its in report.Recoveries)
        {
            yield return Invariant($"RECOVERED  {its.Scenario}: {its.Median:0.0} s after a worker was killed (median of {its.Rounds:N0}; longest ")
                + Invariant($"{its.Longest:0.0} s), with up to {its.Waiting:N0} changes waiting")
                + (its.Quiet is { } quiet ? Invariant($"; a whole round without a fault takes {quiet:0.0} s.") : ".");
        }

        if (!report.IsBroken && report.Rounds.Count > 0)
        {
            yield return Invariant($"KEPT  {report.Total.Published:N0} changes: none lost, each applied exactly once, those with keys in order; ")
                + Invariant($"{report.Total.DeliveredAgain:N0} delivered again. Nothing was left behind.");
        }
    }

    /// <summary>The name of a round.</summary>
    public static string Name(AuditReport report, AuditRoundRecord round) =>
        report.Scenarios.Count > 1 ? Invariant($"{round.Scenario} {round.Round}") : Invariant($"{round.Round}");

    private static IEnumerable<string> Faults(AuditReport report) =>
        report.Rounds.Where(static r => r.Faults.Count > 0).Select(r => $"round {Name(report, r)}: {string.Join("; ", r.Faults)}");

    private static string[] Row(string name, int faults, AuditCounts counts, double seconds, double? recovery) =>
    [
        name, Numbers.Grouped(faults), Numbers.Grouped(counts.Published), Numbers.Grouped(counts.DeliveredAgain), Numbers.Grouped(counts.Lost),
        Numbers.Grouped(counts.AppliedTwice), Numbers.Grouped(counts.OutOfOrder), Numbers.Grouped(counts.DeadLetters), Invariant($"{seconds:0.0}"),
        recovery is { } its ? Invariant($"{its:0.0}") : "",
    ];
}
