using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Loggers;
using Weir.Lab.Resources;
using Weir.Lab.Scaling;
using static System.FormattableString;

namespace Weir.Lab.Benchmarks.Reporting;

/// <summary>One of the figures of the workers: its name, how it is taken from the result, and how it is written.</summary>
/// <remarks>
/// As a metric it is in the JSON of BenchmarkDotNet. Its own metric columns would all be written in the unit of the mean, so the lab has columns of its own.
/// </remarks>
internal sealed class WorkersMetric : IMetricDescriptor
{
    private WorkersMetric(
        string name, string legend, string unit, int position, bool isBetterHigher, Func<WorkersResult, double> value, Func<double, string> format)
    {
        DisplayName = name;
        Legend = legend;
        Unit = unit;
        PriorityInCategory = position;
        TheGreaterTheBetter = isBetterHigher;
        Value = value;
        Format = format;
    }

    /// <summary>All figures, in the order of their columns.</summary>
    public static IReadOnlyList<WorkersMetric> All { get; } =
    [
        new("Op/s", "Operations per second of all workers together (median of the windows)", "op/s", 0, true, static r => r.OperationsPerSecond,
            FigureFormat.Count),
        new("P50", "Half of all calls took at most so long", "ns", 1, false, static r => Percentile(r, 50), FigureFormat.Time),
        new("P99", "99 % of all calls took at most so long", "ns", 2, false, static r => Percentile(r, 99), FigureFormat.Time),
        new("P99.9", "99.9 % of all calls took at most so long", "ns", 3, false, static r => Percentile(r, 99.9), FigureFormat.Time),
        new("Max", "The longest call", "ns", 4, false, static r => r.Latency.Max, FigureFormat.Time),
        new("Allocated/op", "Bytes that all threads allocated for an operation", "B", 5, false, static r => r.BytesPerOperation, FigureFormat.Bytes),
        new("CPU", "Processor time of the process by the clock: 100 % is one processor", "%", 6, false, static r => r.Cores * 100, FigureFormat.Percent),
        new("Fairness", "Operations of the slowest worker divided by those of the fastest", "", 7, true, static r => r.Fairness.MinOverMax, FigureFormat.Ratio),
        new("In-flight", "How many calls were under way at once, on average", "", 8, true, static r => r.InFlight.Average, FigureFormat.Depth),
    ];

    /// <summary>Whether a result has it: a percentile of fewer calls than lie beyond it is none.</summary>
    public bool IsOf(WorkersResult result) => !double.IsNaN(Value(result));

    /// <inheritdoc/>
    public string Id => "Workers." + DisplayName;

    /// <inheritdoc/>
    public string DisplayName { get; }

    /// <inheritdoc/>
    public string Legend { get; }

    /// <inheritdoc/>
    public string NumberFormat => "0.##";

    /// <inheritdoc/>
    public UnitType UnitType => UnitType.Dimensionless;

    /// <inheritdoc/>
    public string Unit { get; }

    /// <inheritdoc/>
    public bool TheGreaterTheBetter { get; }

    /// <inheritdoc/>
    public int PriorityInCategory { get; }

    // Not public: the JSON exporter writes all that is.
    internal Func<WorkersResult, double> Value { get; }

    internal Func<double, string> Format { get; }

    /// <inheritdoc/>
    public bool GetIsAvailable(Metric metric) => false;

    private static double Percentile(WorkersResult result, double percentile) =>
        KnownPercentile.Of(result.Latency.Histogram, percentile, clockCost: 0)?.Nanoseconds ?? double.NaN;
}

/// <summary>Takes the figures of the workers from where the engine left them, and gives them to BenchmarkDotNet as metrics.</summary>
public sealed class WorkersDiagnoser : IDiagnoser
{
    /// <summary>The diagnoser.</summary>
    public static readonly WorkersDiagnoser Instance = new();

    private readonly ConcurrentDictionary<BenchmarkCase, string> _files = new();
    private readonly ConcurrentDictionary<BenchmarkCase, WorkersResult> _results = new();

    private WorkersDiagnoser()
    {
    }

    /// <inheritdoc/>
    public IEnumerable<string> Ids => [nameof(WorkersDiagnoser)];

    /// <inheritdoc/>
    public IEnumerable<IExporter> Exporters => [];

    /// <inheritdoc/>
    public IEnumerable<IAnalyser> Analysers => [];

    /// <summary>The figures of a case.</summary>
    /// <param name="benchmarkCase">The case.</param>
    /// <returns>The figures; <see langword="null"/> when it had no workers, or did not run.</returns>
    public WorkersResult? ResultOf(BenchmarkCase benchmarkCase) => _results.GetValueOrDefault(benchmarkCase);

    /// <inheritdoc/>
    public RunMode GetRunMode(BenchmarkCase benchmarkCase) =>
        WorkersParameter.Of(benchmarkCase) is null ? RunMode.None : RunMode.NoOverhead;

    /// <inheritdoc/>
    public void Handle(HostSignal signal, DiagnoserActionParameters parameters)
    {
        ArgumentNullException.ThrowIfNull(parameters);
        if (signal == HostSignal.BeforeProcessStart && WorkersParameter.Of(parameters.BenchmarkCase) is not null)
        {
            string path = Path.Combine(Path.GetTempPath(), $"weir-lab-{Guid.NewGuid():N}.json");
            _files[parameters.BenchmarkCase] = path;
            parameters.Process.StartInfo.Environment[ResultTransport.Variable] = path;
        }
    }

    /// <inheritdoc/>
    public IEnumerable<Metric> ProcessResults(DiagnoserResults results)
    {
        ArgumentNullException.ThrowIfNull(results);
        _files.TryRemove(results.BenchmarkCase, out string? path);
        if (WorkersParameter.Of(results.BenchmarkCase) is not int workers
            || ResultTransport.Receive(FullNameProvider.GetBenchmarkName(results.BenchmarkCase), workers, path) is not WorkersResult result)
        {
            return [];
        }

        _results[results.BenchmarkCase] = result;
        return WorkersMetric.All.Where(metric => metric.IsOf(result)).Select(metric => new Metric(metric, metric.Value(result)));
    }

    /// <inheritdoc/>
    public void DisplayResults(ILogger logger)
    {
        // The columns show them.
    }

    /// <inheritdoc/>
    public IEnumerable<ValidationError> Validate(ValidationParameters validationParameters) => [];
}

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

/// <summary>Writes figures so that each has the unit that suits it.</summary>
internal static class FigureFormat
{
    private static readonly CultureInfo Culture = CultureInfo.InvariantCulture;

    public static string Count(double value) => value.ToString(value < 1_000 ? "0.##" : "N0", Culture);

    public static string Time(double nanoseconds) => nanoseconds switch
    {
        < 1e3 => nanoseconds.ToString("0", Culture) + " ns",
        < 1e6 => (nanoseconds / 1e3).ToString("0.##", Culture) + " us",
        < 1e9 => (nanoseconds / 1e6).ToString("0.##", Culture) + " ms",
        _ => (nanoseconds / 1e9).ToString("0.##", Culture) + " s",
    };

    public static string Bytes(double bytes) =>
        bytes < 0.5 ? "-" : bytes < 10_000 ? bytes.ToString("N0", Culture) + " B" : (bytes / 1024).ToString("N1", Culture) + " KB";

    public static string Percent(double percent) => percent.ToString("0", Culture) + " %";

    public static string Ratio(double ratio) => ratio.ToString("0.00", Culture);

    public static string Depth(double depth) => depth.ToString("0.##", Culture);
}
