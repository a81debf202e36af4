using Weir.Lab.Scaling;

namespace Weir.Lab.Results;

/// <summary>Fits laws of scaling to a result.</summary>
internal static class ScalingFits
{
    /// <summary>The result with a law for all arms of one name, and what each fit says in a sentence.</summary>
    public static ResultFile Fitted(ResultFile result)
    {
        List<FitRecord> fits = [.. result.Fits];
        List<Finding> findings = [.. result.Findings];
        foreach (IGrouping<string, ArmRecord> arms in result.Arms.GroupBy(static a => a.Name))
        {
            ScalePoint[] points =
            [
                .. arms.Select(static a => new ScalePoint(a.Workers, RatesOf(a))).Where(static point => point.Rates.Count > 0),
            ];
            if (points.Length == 0)
            {
                const string refused = "No round counted.";
                Interval none = new(0, 0, 0);
                fits.Add(new FitRecord { Name = arms.Key, Lambda = none, Sigma = none, Kappa = none, Refused = refused });
                findings.Add(new Finding(FindingLevel.Doubt, $"{arms.Key}: No fit: {refused}", FindingKind.Scaling));
                continue;
            }

            ScalingFit fit = ScalingFit.Of(points);
            fits.Add(new FitRecord
            {
                Name = arms.Key,
                Law = fit.IsUsable ? WordOf(fit.Law) : null,
                LackOfFit = fit.LackOfFit,
                Lambda = Of(fit.Lambda),
                Sigma = Of(fit.Sigma),
                Kappa = Of(fit.Kappa),
                PeakWorkers = fit.PeakWorkers,
                PeakRate = fit.PeakRate,
                RSquared = fit.RSquared,
                Refused = fit.IsUsable ? null : string.Join(" ", fit.Refusals),
            });
            findings.Add(new Finding(fit.IsUsable ? FindingLevel.Note : FindingLevel.Doubt, $"{arms.Key}: {fit.Summary}{Shared(fit)}", FindingKind.Scaling));
        }

        return result with { Fits = fits, Findings = findings };

        string Shared(ScalingFit fit) => !fit.IsUsable && result.Machine.Cores is > 0 and int all && fit.Points.Any(p => p.Workers > all)
            ? FormattableString.Invariant($" Workers beyond the {all} processors share them, which no law describes if they compute.")
            : "";
    }

    // The unit is the process. Where the rounds do not name one, they have one each, or all worker counts share one.
    private static double[] RatesOf(ArmRecord arm) =>
    [
        .. arm.Counted.Where(static r => r.Rate > 0).Select(static (r, i) => (r.Rate, Unit: r.Process ?? -i))
            .GroupBy(static r => r.Unit).Select(static g => g.Average(static r => r.Rate)),
    ];

    private static string WordOf(ScalingLaw law) => law switch
    {
        ScalingLaw.Linear => "linear",
        ScalingLaw.Amdahl => "amdahl",
        _ => "usl",
    };

    private static Interval Of(Estimate estimate) => new(estimate.Value, estimate.Lower, estimate.Upper);
}
