using BenchmarkDotNet.Columns;

namespace Weir.Lab.Benchmarks.Reporting;

/// <summary>One of the figures of the workers: its name, how it is taken from the result, and how it is written.</summary>
/// <remarks>
/// As a metric it is in the JSON of BenchmarkDotNet. Its own metric columns would all be written in the unit of the mean, so the lab has columns of its own.
/// </remarks>
internal sealed class WorkersMetric : IMetricDescriptor
{
    private WorkersMetric(
        string name, string legend, string unit, int place, bool isBetterHigher, Func<WorkersResult, double> value, Func<double, string> format)
    {
        DisplayName = name;
        Legend = legend;
        Unit = unit;
        PriorityInCategory = place;
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
