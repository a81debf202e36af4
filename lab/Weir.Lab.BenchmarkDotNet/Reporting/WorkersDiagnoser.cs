using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Loggers;

namespace Weir.Lab.Benchmarks.Reporting;

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
