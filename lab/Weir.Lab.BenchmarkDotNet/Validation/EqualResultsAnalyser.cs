using Weir.Lab.Benchmarks.Reporting;

namespace Weir.Lab.Benchmarks.Validation;

/// <summary>Warns when a benchmark returns something else than its baseline: then it probably does different work.</summary>
internal sealed class EqualResultsAnalyser : AnalyserBase
{
    public static readonly EqualResultsAnalyser Instance = new();

    /// <inheritdoc/>
    public override string Id => "EqualWork";

    /// <inheritdoc/>
    protected override IEnumerable<Conclusion> AnalyseSummary(Summary summary)
    {
        foreach (IGrouping<string?, BenchmarkCase> group in summary.BenchmarksCases.GroupBy(b => summary.GetLogicalGroupKey(b)))
        {
            if (group.FirstOrDefault(static b => b.Descriptor.Baseline) is not BenchmarkCase baseline || ReturnedBy(baseline) is not string expected)
            {
                continue;
            }

            foreach (BenchmarkCase benchmark in group)
            {
                if (ReturnedBy(benchmark) is string returned && returned != expected)
                {
                    yield return CreateWarning(
                        (WorkersParameter.Of(benchmark) is { } workers ? FormattableString.Invariant($"Workers={workers}: ") : "")
                            + $"{benchmark.Descriptor.WorkloadMethodDisplayInfo} returns {returned}, but the baseline "
                            + $"{baseline.Descriptor.WorkloadMethodDisplayInfo} returns {expected}: they may do unequal work.",
                        summary[benchmark]);
                }
            }
        }
    }

    private static string? ReturnedBy(BenchmarkCase benchmark) => WorkersDiagnoser.Instance.ResultOf(benchmark)?.Returned;
}
