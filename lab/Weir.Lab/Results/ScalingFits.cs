using Weir.Lab.Scaling;

namespace Weir.Lab.Results;

/// <summary>Fits the scaling law to a result.</summary>
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
                .. arms.Select(static a => new ScalePoint(a.Workers, [.. a.Counted.Select(static r => r.Rate).Where(static r => r > 0)]))
                    .Where(static point => point.Rates.Count > 0),
            ];
            if (points.Length == 0)
            {
                const string refused = "No round counted.";
                Interval none = new(0, 0, 0);
                fits.Add(new FitRecord { Name = arms.Key, Lambda = none, Sigma = none, Kappa = none, Refused = refused });
                findings.Add(new Finding(FindingLevel.Doubt, $"{arms.Key}: No fit: {refused}", FindingKind.Scaling));
                continue;
            }

            UslFit fit = UslFit.Of(points);
            fits.Add(new FitRecord
            {
                Name = arms.Key,
                Lambda = Of(fit.Lambda),
                Sigma = Of(fit.Sigma),
                Kappa = Of(fit.Kappa),
                PeakWorkers = fit.PeakWorkers,
                PeakRate = fit.PeakRate,
                RSquared = fit.RSquared,
                Refused = fit.IsUsable ? null : string.Join(" ", fit.Refusals),
            });
            findings.Add(new Finding(fit.IsUsable ? FindingLevel.Note : FindingLevel.Doubt, $"{arms.Key}: {fit.Summary}", FindingKind.Scaling));
        }

        return result with { Fits = fits, Findings = findings };
    }

    private static Interval Of(Estimate estimate) => new(estimate.Value, estimate.Lower, estimate.Upper);
}
