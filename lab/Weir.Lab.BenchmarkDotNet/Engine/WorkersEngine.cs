using BenchmarkDotNet.Jobs;
using Perfolizer.Mathematics.OutlierDetection;
using Weir.Lab.Resources;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>
/// Runs a benchmark with many workers through BenchmarkDotNet's stages. An iteration is a window of time in which all workers run; where the job
/// fixes the number of invocations, it is that number of calls of each worker.
/// </summary>
/// <remarks>
/// BenchmarkDotNet compares iterations by their time for an equal number of operations. Here the time is equal and the operations differ, so
/// each iteration is reported as the time that a fixed number of operations would have taken at its rate.
/// </remarks>
internal sealed class WorkersEngine : IEngine
{
    private const int LatencyWindows = 3;
    private const int PilotWindows = 3;
    private const int CanaryPieces = 40;
    private static readonly TimeSpan PilotWindow = TimeSpan.FromMilliseconds(50);

    private readonly EngineParameters _parameters;
    private readonly BenchmarkWindows _windows;
    private readonly RunStrategy _strategy;
    private readonly IterationRules _rules;
    private readonly bool _forceGc;
    private readonly List<double> _rates = [];
    private readonly List<WindowOutcome> _measured = [];
    private CanaryReading _canaryBefore;
    private long _reference;

    private WorkersEngine(EngineParameters parameters, int workers)
    {
        _parameters = parameters;
        _strategy = Resolve(RunMode.RunStrategyCharacteristic);
        _rules = new IterationRules(TargetJob, Resolver, _strategy);
        _forceGc = Resolve(GcMode.ForceCharacteristic);

        // The other strategies call the benchmark once in each iteration, unless the job says how often.
        long? count = TargetJob.HasValue(RunMode.InvocationCountCharacteristic) ? Math.Max(1, TargetJob.Run.InvocationCount)
            : _strategy == RunStrategy.Throughput ? null : 1;
        TimeSpan window = TimeSpan.FromMilliseconds(Math.Max(1, parameters.IterationTime.ToMilliseconds()));
        _windows = new BenchmarkWindows(BenchmarkBinder.Bind(parameters), workers, window, count, parameters.Host.WriteLine);
    }

    public IHost Host => _parameters.Host;

    public Job TargetJob => _parameters.TargetJob;

    public long OperationsPerInvoke => _parameters.OperationsPerInvoke;

    public Action? GlobalSetupAction => _parameters.GlobalSetupAction;

    public Action? GlobalCleanupAction => _parameters.GlobalCleanupAction;

    public Action<long> WorkloadAction => _parameters.WorkloadActionNoUnroll;

    public Action<long> OverheadAction => _parameters.OverheadActionNoUnroll;

    public IResolver Resolver => EngineParameters.DefaultResolver;

    /// <summary>Sets the benchmark up, and calls it once in each worker, so that everything is compiled.</summary>
    public static WorkersEngine CreateReadyToRun(EngineParameters parameters, int workers)
    {
        parameters.GlobalSetupAction?.Invoke();
        WorkersEngine engine = new(parameters, workers);
        if (parameters.NeedsJitting)
        {
            engine.Host.WriteLine(engine.Iterate(IterationMode.Workload, IterationStage.Jitting, 1, engine._windows.Once()).ToString());
            engine.Host.WriteLine();
        }

        return engine;
    }

    /// <inheritdoc/>
    public RunResults Run()
    {
        List<Measurement> measurements = [];
        if (_strategy is RunStrategy.Throughput && !_windows.HasCount)
        {
            Pilot(measurements);
        }

        if (_strategy is not RunStrategy.ColdStart)
        {
            RunStage(IterationStage.Warmup, _rules.IsWarm, measurements);
        }

        _windows.Fix();
        _canaryBefore = Canary.Read(CanaryPieces);
        Host.BeforeMainRun();
        RunStage(IterationStage.Actual, _rules.IsPrecise, measurements);
        Host.AfterMainRun();

        ExtraStats extra = MeasureLatency();
        return new RunResults(
            measurements,
            Resolve(AccuracyMode.OutlierModeCharacteristic),
            extra.Gc,
            extra.Threading,
            extra.ExceptionFrequency);
    }

    /// <inheritdoc/>
    public Measurement RunIteration(IterationData data)
    {
        bool isActual = data.IterationStage == IterationStage.Actual;
        Measurement measurement = Iterate(
            data.IterationMode, data.IterationStage, data.Index, _windows.Measured(timed: false), isActual ? _measured : null);
        Host.WriteLine(measurement.ToString());
        return measurement;
    }

    /// <inheritdoc/>
    public void WriteLine() => Host.WriteLine();

    /// <inheritdoc/>
    public void WriteLine(string line) => Host.WriteLine(line);

    /// <inheritdoc/>
    public void Dispose()
    {
        try
        {
            GlobalCleanupAction?.Invoke();
        }
        catch (Exception error)
        {
            // Not thrown: it would hide what the benchmark itself threw.
            Host.SendError("Exception during GlobalCleanup!");
            Host.SendError(error.Message);
        }
    }

    private void Pilot(List<Measurement> measurements)
    {
        // Until the batches fit: in the first window the clock is read after each call, so that it is slower than the next.
        for (int i = 1; i <= PilotWindows; i++)
        {
            Measurement measurement = Iterate(IterationMode.Workload, IterationStage.Pilot, i, _windows.Measured(timed: false, PilotWindow));
            measurements.Add(measurement);
            Host.WriteLine(measurement.ToString());
        }

        Host.WriteLine();
    }

    private void RunStage(IterationStage stage, Func<IReadOnlyList<Measurement>, bool> isEnough, List<Measurement> measurements)
    {
        List<Measurement> own = [];
        while (!isEnough(own))
        {
            own.Add(RunIteration(new IterationData(IterationMode.Workload, stage, own.Count + 1, _windows.Count ?? 1, 1)));
        }

        measurements.AddRange(own);
        Host.WriteLine();
    }

    private Measurement Iterate(
        IterationMode mode, IterationStage stage, int index, BenchmarkWindow window, List<WindowOutcome>? kept = null)
    {
        _parameters.IterationSetupAction?.Invoke();
        CollectIfForced();
        LabContext.InFlight.Reset();
        WindowOutcome outcome = window.Run();
        InFlightDepth depth = DepthOf(outcome);
        _parameters.IterationCleanupAction?.Invoke();
        CollectIfForced();
        double rate = Math.Max(outcome.Rate, double.Epsilon) * OperationsPerInvoke;
        if (kept is not null)
        {
            kept.Add(outcome with { InFlight = depth });
            _rates.Add(rate);
        }

        long operations = Math.Max(1, outcome.Operations * OperationsPerInvoke);
        if (stage is IterationStage.Warmup or IterationStage.Actual && !_windows.HasCount)
        {
            // The first window's number of operations becomes that of all.
            operations = _reference = _reference > 0 ? _reference : operations;
        }

        return new Measurement(0, mode, stage, index, operations, operations * 1e9 / rate);
    }

    private ExtraStats MeasureLatency()
    {
        ExtraStats extra = new();
        int windows = _windows.HasCount ? 1 : LatencyWindows;
        List<WindowOutcome> outcomes = [];
        long own = _windows.OwnBytes();
        long thrown = 0;
        for (int i = 0; i < windows; i++)
        {
            // Of the operations alone: set-ups, clean-ups and what looks at the benchmark afterwards may throw too.
            _parameters.IterationSetupAction?.Invoke();
            using (ExceptionCounter exceptions = new())
            {
                outcomes.Add(_windows.Measured(timed: true).Run());
                thrown += exceptions.Count;
            }

            _parameters.IterationCleanupAction?.Invoke();
        }

        long executed = Math.Max(1, outcomes.Sum(static o => o.Executed)) * OperationsPerInvoke;
        long bytes = Math.Max(0, outcomes.Sum(static o => o.Bytes) - (own * windows));
        ResultTransport.Send(_parameters.BenchmarkName, ResultOf(outcomes, (double)bytes / executed));
        if (_parameters.MeasureExtraStats)
        {
            (long all, long older, long oldest) = (Sum(static u => u.Collections), Sum(static u => u.Gen1 + u.Gen2), Sum(static u => u.Gen2));
            extra.Gc = GcStats.Parse(FormattableString.Invariant($"// GC:  {all} {older} {oldest} {bytes} {executed}"));
            extra.Threading = new ThreadingStats(Sum(static u => u.PoolCompleted), Sum(static u => u.LockContentions), executed);
            extra.ExceptionFrequency = (double)thrown / executed;
        }

        return extra;

        long Sum(Func<ResourceUse, long> figure) => outcomes.Sum(o => figure(o.Whole));
    }

    private WorkersResult ResultOf(List<WindowOutcome> timed, double bytesPerOperation)
    {
        GroupResult[] groups = [.. _measured.Select(static o => o.Groups()[0])];
        return new WorkersResult
        {
            Workers = _windows.Workers,
            IsAsync = _windows.IsAsync,
            OperationsPerSecond = Statistics.Spread.Of(_rates).Median,
            Latency = LatencySummary.Merge(timed.Select(static o => new LatencySummary(o.Service!)))!,
            SampleEvery = timed[0].Groups()[0].SampleEvery,
            BytesPerOperation = bytesPerOperation,
            Cores = _measured.Average(static o => o.Cores),
            ProcessorCount = Environment.ProcessorCount,
            Fairness = new Statistics.Fairness(
                Statistics.Spread.Of(groups.Select(static g => g.Fairness.MinOverMax)).Median,
                Statistics.Spread.Of(groups.Select(static g => g.Fairness.Jain)).Median,
                groups.Max(static g => g.Fairness.LongestGap)),
            InFlight = new InFlightDepth(
                _measured.Average(static o => o.InFlight.Average), _measured.Max(static o => o.InFlight.Max), _measured[0].InFlight.IsMeasured),
            CanaryVariation = Math.Max(_canaryBefore.Variation, Canary.Read(CanaryPieces).Variation),
            Returned = ReturnedValue.Of(_parameters, _windows),
        };
    }

    private static InFlightDepth DepthOf(WindowOutcome outcome) =>
        LabContext.InFlight.IsUsed ? new InFlightDepth(LabContext.InFlight.Average(), LabContext.InFlight.Max, true) : outcome.InFlight;

    private void CollectIfForced()
    {
        if (_forceGc)
        {
            Heap.Collect();
        }
    }

    private T Resolve<T>(Characteristic<T> characteristic) => TargetJob.ResolveValue(characteristic, Resolver)!;

    private sealed class ExtraStats
    {
        public GcStats Gc { get; set; } = GcStats.Empty;

        public ThreadingStats Threading { get; set; } = ThreadingStats.Empty;

        public double ExceptionFrequency { get; set; }
    }
}
