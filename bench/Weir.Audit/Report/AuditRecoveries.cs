using Weir.Lab.Statistics;

namespace Weir.Audit.Report;

/// <summary>How long a scenario took to recover from kills of workers.</summary>
/// <param name="Scenario">Its name.</param>
/// <param name="Rounds">In how many rounds a worker was killed that had something in hand.</param>
/// <param name="Median">The median of their recoveries, in seconds.</param>
/// <param name="Longest">The longest of them.</param>
/// <param name="Waiting">How many changes waited at most when a worker was killed.</param>
/// <param name="Quiet">The median of the rounds in which nothing happened, in seconds; <see langword="null"/> if there was none.</param>
internal sealed record AuditRecoveries(string Scenario, int Rounds, double Median, double Longest, long Waiting, double? Quiet)
{
    public static IEnumerable<AuditRecoveries> Of(IEnumerable<AuditRoundRecord> rounds)
    {
        foreach (IGrouping<string, AuditRoundRecord> group in rounds.GroupBy(static r => r.Scenario))
        {
            double[] recoveries = [.. group.Where(static r => r.Recovery is not null).Select(static r => r.Recovery!.Seconds)];
            double[] quiet = [.. group.Where(static r => r.Faults.Count == 0).Select(static r => r.Seconds)];
            if (recoveries.Length > 0)
            {
                yield return new AuditRecoveries(
                    group.Key,
                    recoveries.Length,
                    Spread.Of(recoveries).Median,
                    recoveries.Max(),
                    group.Max(static r => r.Recovery?.Waiting ?? 0),
                    quiet.Length == 0 ? null : Spread.Of(quiet).Median);
            }
        }
    }
}
