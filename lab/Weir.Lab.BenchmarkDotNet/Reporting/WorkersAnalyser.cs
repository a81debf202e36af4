using Weir.Lab.Resources;
using Weir.Lab.Scaling;
using static System.FormattableString;

namespace Weir.Lab.Benchmarks.Reporting;

/// <summary>Says what the figures of the workers mean: how a benchmark scales, and what disturbed it.</summary>
internal sealed class WorkersAnalyser : AnalyserBase
{
    // The throughput does not show that workers starve each other.
    private const double Unfair = 0.5;

    public static readonly WorkersAnalyser Instance = new();

    /// <inheritdoc/>
    public override string Id => "Workers";

    /// <inheritdoc/>
    protected override IEnumerable<Conclusion> AnalyseReport(BenchmarkReport report, Summary summary)
    {
        if (WorkersDiagnoser.Instance.ResultOf(report.BenchmarkCase) is not WorkersResult result)
        {
            yield break;
        }

        if (result.CanaryVariation > Canary.QuietVariation)
        {
            yield return CreateWarning(
                Invariant($"Workers={result.Workers}: the machine was not quiet, equal work varied by {result.CanaryVariation:P1}."), report);
        }

        if (result.Fairness.MinOverMax < Unfair)
        {
            yield return CreateHint(
                Invariant($"Workers={result.Workers}: the slowest worker did {result.Fairness.MinOverMax:0.00} of the fastest; the longest wait of one was ")
                    + Invariant($"{FigureFormat.Time(result.Fairness.LongestGap.TotalNanoseconds)}."),
                report);
        }

        if (result.SampleEvery > 1)
        {
            yield return CreateHint(
                Invariant($"Workers={result.Workers}: one of {result.SampleEvery} calls was timed, and a time below 1 us has the ")
                    + Invariant($"{Latency.Clock.MeasureReadCost():0} ns of the clock in it."), report);
        }
    }

    /// <inheritdoc/>
    protected override IEnumerable<Conclusion> AnalyseSummary(Summary summary)
    {
        IEnumerable<IGrouping<string, BenchmarkReport>> series = summary.Reports
            .Where(static r => r.Success && WorkersParameter.Of(r.BenchmarkCase) is not null)
            .GroupBy(static r => SeriesOf(r.BenchmarkCase));
        foreach (IGrouping<string, BenchmarkReport> one in series)
        {
            ScalePoint[] points =
            [
                .. one.Select(static r => new ScalePoint(WorkersParameter.Of(r.BenchmarkCase)!.Value, RatesOf(r))).Where(static p => p.Rates.Count > 0),
            ];
            if (points.Length < ScalingFit.LeastPoints)
            {
                continue;
            }

            // Few worker counts with one process each are usual, and no reason to say anything.
            ScalingFit fit = ScalingFit.Of(points);
            if (fit.IsUsable || points.Length >= ScalingFit.LeastPointsOfAll)
            {
                string once = points.All(static p => p.Rates.Count == 1)
                    ? " Each has one process; a LaunchCount of 3 or more shows how much processes differ."
                    : "";
                yield return CreateHint($"Scaling of {one.Key}: {fit.Summary}{once}");
            }
        }
    }

    // A rate for each process: the iterations of one resemble each other more than processes do.
    private static double[] RatesOf(BenchmarkReport report) =>
    [
        .. report.GetResultRuns().Where(static m => m.Nanoseconds > 0).GroupBy(static m => m.LaunchIndex)
            .Select(static g => g.Average(static m => m.Operations * 1e9 / m.Nanoseconds)),
    ];

    private static string SeriesOf(BenchmarkCase benchmark) => string.Join(
        ' ',
        [
            $"{benchmark.Descriptor.Type.Name}.{benchmark.Descriptor.WorkloadMethodDisplayInfo}",
            benchmark.Job.ResolvedId,
            .. benchmark.Parameters.Items.SkipLast(1).Select(static p => $"{p.Name}={p.ToDisplayText()}"),
        ]);
}
