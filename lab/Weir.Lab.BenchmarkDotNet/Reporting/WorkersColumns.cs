using BenchmarkDotNet.Columns;

namespace Weir.Lab.Benchmarks.Reporting;

/// <summary>The columns of the workers' figures, in tables with workers only.</summary>
internal sealed class WorkersColumns : IColumnProvider
{
    /// <inheritdoc/>
    public IEnumerable<IColumn> GetColumns(Summary summary) =>
        summary.BenchmarksCases.Any(static b => WorkersParameter.Of(b) is not null) ? WorkersMetric.All.Select(static m => new FigureColumn(m)) : [];

    private sealed class FigureColumn(WorkersMetric metric) : IColumn
    {
        public string Id => nameof(FigureColumn) + "." + metric.DisplayName;

        public string ColumnName => metric.DisplayName;

        public bool AlwaysShow => true;

        public ColumnCategory Category => ColumnCategory.Custom;

        public int PriorityInCategory => metric.PriorityInCategory;

        public bool IsNumeric => true;

        public UnitType UnitType => UnitType.Dimensionless;

        public string Legend => metric.Legend;

        public bool IsAvailable(Summary summary) => true;

        public bool IsDefault(Summary summary, BenchmarkCase benchmarkCase) => false;

        public string GetValue(Summary summary, BenchmarkCase benchmarkCase) =>
            summary[benchmarkCase]?.Metrics.TryGetValue(metric.Id, out Metric? found) == true
                ? metric.Format(found.Value)
                : WorkersParameter.Of(benchmarkCase) is null || WorkersDiagnoser.Instance.ResultOf(benchmarkCase) is not null ? "-" : "NA";

        public string GetValue(Summary summary, BenchmarkCase benchmarkCase, SummaryStyle style) => GetValue(summary, benchmarkCase);
    }
}
