using System.Collections;
using System.Linq.Expressions;
using System.Runtime.ExceptionServices;
using BenchmarkDotNet.Attributes;
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

/// <summary>Makes the engine of a case: the lab's own for a case with workers, BenchmarkDotNet's for all others.</summary>
public sealed class WorkersEngineFactory : IEngineFactory
{
    /// <inheritdoc/>
    public IEngine CreateReadyToRun(EngineParameters engineParameters)
    {
        ArgumentNullException.ThrowIfNull(engineParameters);
        if (WorkersParameter.Of(engineParameters.TargetJob) is int workers)
        {
            return WorkersEngine.CreateReadyToRun(engineParameters, workers);
        }

        ThrowIfForgotten(engineParameters);
        return new EngineFactory().CreateReadyToRun(engineParameters);
    }

    // Otherwise, the figures of one worker would be shown as those of many.
    private static void ThrowIfForgotten(EngineParameters parameters)
    {
        if (parameters.WorkloadActionUnroll?.Target?.GetType().BaseType is Type type
            && type.GetMethods()
                .FirstOrDefault(m => m.IsDefined(typeof(BenchmarkAttribute)) && m.Name == BenchmarkBinder.NameOf(parameters.BenchmarkName)) is MethodInfo method
            && WorkersOrderer.CountsOf(method, type).Count > 0)
        {
            throw new NotSupportedException(
                $"[Workers] of {method.Name} was not seen: give it to the class too, or run it with LabBenchmarks.Run, and leave out other orderers.");
        }
    }
}

/// <summary>Finds the benchmark method behind what BenchmarkDotNet hands to an engine, and makes it an operation of its own shape.</summary>
/// <remarks>
/// BenchmarkDotNet's delegates block for each asynchronous call and consume into one shared field, so they do not scale. The target of the
/// delegates is the instance that it generated, which derives from the benchmark class and has the arguments in fields.
/// </remarks>
internal static class BenchmarkBinder
{
    private const string ArgumentField = "__argField";
    private const BindingFlags AnyMember = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;

    /// <summary>The operation of the method.</summary>
    public static Operation Bind(EngineParameters parameters)
    {
        object instance = InstanceOf(parameters);
        MethodInfo method = MethodOf(instance, parameters.BenchmarkName);
        ParameterInfo[] declared = method.GetParameters();
        if (method.ReturnType.IsByRef || method.ReturnType.IsByRefLike || declared.Any(static p => p.ParameterType.IsByRef || p.ParameterType.IsByRefLike))
        {
            // Such a call does not fit a delegate of the usual shapes. None of them is asynchronous, so BenchmarkDotNet's own delegate is good enough.
            Action<long> call = parameters.WorkloadActionNoUnroll;
            return Operation.Of(() => call(1));
        }

        Type delegateType = method.ReturnType == typeof(void) ? typeof(Action) : typeof(Func<>).MakeGenericType(method.ReturnType);
        return DelegateOperations.Of(DelegateOf(instance, method, declared, delegateType));
    }

    /// <summary>The instance that the benchmark runs on; it derives from the benchmark class.</summary>
    public static object InstanceOf(EngineParameters parameters) => parameters.WorkloadActionUnroll.Target is { } target
        && target.GetType().BaseType is { } type && type != typeof(object)
            ? target
            : throw new NotSupportedException(
                "Workers need the out-of-process toolchain or InProcessEmitToolchain: this toolchain does not show the benchmark instance.");

    /// <summary>The benchmark method of a case.</summary>
    /// <param name="instance">The instance that the benchmark runs on.</param>
    /// <param name="benchmarkName">The full name of the case, such as <c>Space.Class.Method(count: 3, Workers: 8)</c>.</param>
    public static MethodInfo MethodOf(object instance, string benchmarkName)
    {
        string name = NameOf(benchmarkName);
        int arguments = ArgumentFields(instance).Length;
        MethodInfo[] found =
        [
            .. instance.GetType().BaseType!.GetMethods(AnyMember)
                .Where(m => m.Name == name && m.IsDefined(typeof(BenchmarkAttribute), inherit: true) && m.GetParameters().Length == arguments),
        ];
        return found.Length == 1
            ? found[0]
            : throw new NotSupportedException($"{found.Length} benchmark methods are named {name} and have {arguments} parameters; workers need one.");
    }

    internal static string NameOf(string benchmarkName)
    {
        int end = benchmarkName.IndexOf('(', StringComparison.Ordinal);
        string path = end < 0 ? benchmarkName : benchmarkName[..end];

        // A generic class has its arguments in the name, with points of their own.
        int generic = path.LastIndexOf('>');
        return path[(Math.Max(path.LastIndexOf('.'), generic) + 1)..].TrimStart('.');
    }

    private static Delegate DelegateOf(object instance, MethodInfo method, ParameterInfo[] declared, Type delegateType)
    {
        if (declared.Length == 0)
        {
            // Bound directly to the method: otherwise, the method would be inlined, and the disassembler would not find it.
            return method.IsStatic ? method.CreateDelegate(delegateType) : method.CreateDelegate(delegateType, instance);
        }

        FieldInfo[] fields = ArgumentFields(instance);
        Expression[] arguments =
        [
            .. declared.Select((p, i) =>
                Expression.Convert(Expression.Constant(fields[i].GetValue(fields[i].IsStatic ? null : instance), fields[i].FieldType), p.ParameterType)),
        ];
        return Expression.Lambda(delegateType, Expression.Call(method.IsStatic ? null : Expression.Constant(instance), method, arguments)).Compile();
    }

    private static FieldInfo[] ArgumentFields(object instance) =>
    [
        .. instance.GetType().GetFields(AnyMember | BindingFlags.DeclaredOnly)
            .Where(static f => f.Name.StartsWith(ArgumentField, StringComparison.Ordinal))
            .OrderBy(static f => int.Parse(f.Name.AsSpan(ArgumentField.Length), System.Globalization.CultureInfo.InvariantCulture)),
    ];
}

/// <summary>One window of a benchmark, ready to be run.</summary>
internal sealed class BenchmarkWindow(BenchmarkWindows windows, WorkerRunSpec spec, Workload workload, WindowPlan plan, Action<string> waiting)
{
    /// <summary>Runs it.</summary>
    /// <exception cref="Exception">What the benchmark threw, if it did.</exception>
    /// <exception cref="TimeoutException">A worker did not end.</exception>
    public WindowOutcome Run()
    {
        WindowOutcome outcome = WindowRunner.Run(spec, workload, plan, CancellationToken.None, waiting);
        if (outcome.FirstError is { } error)
        {
            // A benchmark that throws has no figures, as with BenchmarkDotNet itself.
            ExceptionDispatchInfo.Throw(error);
        }

        if (outcome.Troubles.Count > 0)
        {
            throw new TimeoutException($"{outcome.Troubles[0]} Calls that wait for each other need as many workers as meet.");
        }

        windows.Learn(outcome);
        return outcome;
    }
}

/// <summary>Makes the windows of a benchmark, and learns from each how many calls go between two looks at the clock.</summary>
internal sealed class BenchmarkWindows
{
    private const string Group = WorkerRunSpec.DefaultGroup;

    // The first as in all commands. The second is of an operation, not of a window: BenchmarkDotNet has no limit for a whole case.
    private static readonly TimeSpan Said = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan GivenUp = TimeSpan.FromMinutes(5);
    private readonly Operation _operation;
    private readonly Workload _workload;
    private readonly WorkerRunSpec _spec;
    private readonly Action<string> _waiting;
    private int _batch = 1;
    private bool _isFixed;

    public BenchmarkWindows(Operation operation, int workers, TimeSpan window, long? count, Action<string> say)
    {
        _waiting = what => say(FormattableString.Invariant(
            $"// Waiting for a worker to {what}; the benchmark is given up after {GivenUp.TotalMinutes:0} min."));
        _operation = operation;
        IsAsync = operation.IsAsync;
        Workers = workers;
        Count = count;
        _workload = new Workload("benchmark", _ => operation);
        _spec = new WorkerRunSpec
        {
            Workload = "benchmark",
            Groups = [new WorkerGroup(Group, workers)],
            Duration = window,
            Rounds = 1,
            DrainLimit = GivenUp,
        };
    }

    public int Workers { get; }

    public bool IsAsync { get; }

    /// <summary>How many calls each worker makes in a window; <see langword="null"/> when the window is a time.</summary>
    public long? Count { get; }

    public bool HasCount => Count is not null;

    /// <summary>One call of each worker.</summary>
    /// <param name="other">What they call; <see langword="null"/> for the benchmark.</param>
    public BenchmarkWindow Once(Operation? other = null) =>
        Window(other is null ? _workload : new Workload("benchmark", _ => other), timed: false, _spec.Duration, 1);

    /// <summary>A window of the job's length.</summary>
    public BenchmarkWindow Measured(bool timed, TimeSpan? duration = null) => Window(_workload, timed, duration ?? _spec.Duration, Count);

    /// <summary>Bytes that a window itself allocates, whatever is measured in it.</summary>
    public long OwnBytes() => IdleWindow.Bytes(_spec, IsAsync ? new HashSet<string> { Group } : [], HasCount ? 1 : null, CancellationToken.None, _operation);

    /// <summary>From here on all windows are alike.</summary>
    public void Fix() => _isFixed = true;

    public void Learn(WindowOutcome outcome)
    {
        if (!_isFixed && !outcome.IsWhole && outcome.Rate > 0)
        {
            _batch = outcome.NextBatches()[Group];
        }
    }

    private BenchmarkWindow Window(Workload workload, bool timed, TimeSpan duration, long? count) => new(
        this,
        _spec with { MeasuresLatency = timed },
        workload,
        new WindowPlan(1, duration, new Dictionary<string, int> { [Group] = count is null ? _batch : 1 })
        {
            Whole = count is null ? null : new WholeOperations { Each = count }, HasTimeline = false, Stall = (Said, GivenUp),
        },
        _waiting);
}

/// <summary>How many iterations a stage has: as many as the job says, or until the figures are good enough by the job's bounds.</summary>
internal sealed class IterationRules(Job job, IResolver resolver, RunStrategy strategy)
{
    // As long as code gets faster by compiling, the times fall. Once they go up and down, only noise is left.
    private const int ReversalsOfNoise = 4;
    private const int DefaultOfMonitoring = 10;

    /// <summary>Whether the warm-up needs no further iteration.</summary>
    public bool IsWarm(IReadOnlyList<Measurement> done)
    {
        int? count = job.HasValue(RunMode.WarmupCountCharacteristic) ? job.Run.WarmupCount : null;
        if (strategy == RunStrategy.Monitoring || count >= 0)
        {
            return done.Count >= Math.Max(0, count ?? 0);
        }

        return done.Count >= Resolve(RunMode.MaxWarmupIterationCountCharacteristic)
            || (done.Count >= Resolve(RunMode.MinWarmupIterationCountCharacteristic) && Reversals(done) >= ReversalsOfNoise);
    }

    /// <summary>Whether the measurement needs no further iteration.</summary>
    public bool IsPrecise(IReadOnlyList<Measurement> done)
    {
        if (job.HasValue(RunMode.IterationCountCharacteristic) || strategy == RunStrategy.Monitoring)
        {
            return done.Count >= (job.HasValue(RunMode.IterationCountCharacteristic) ? job.Run.IterationCount : DefaultOfMonitoring);
        }

        return done.Count >= Resolve(RunMode.MaxIterationCountCharacteristic)
            || (done.Count >= Resolve(RunMode.MinIterationCountCharacteristic) && Margin(done) is var (margin, allowed) && margin < allowed);
    }

    private static int Reversals(IReadOnlyList<Measurement> done)
    {
        int reversals = 0;
        int before = -1;
        for (int i = 1; i < done.Count; i++)
        {
            int now = done[i].Nanoseconds.CompareTo(done[i - 1].Nanoseconds);
            reversals += now == before && now != 0 ? 0 : 1;
            before = now;
        }

        return reversals;
    }

    private (double Margin, double Allowed) Margin(IReadOnlyList<Measurement> done)
    {
        RunResults results = new(done, Resolve(AccuracyMode.OutlierModeCharacteristic), default, default, 0);
        BenchmarkDotNet.Mathematics.Statistics statistics = new(results.GetWorkloadResultMeasurements().Select(static m => m.Nanoseconds));
        double allowed = Resolve(AccuracyMode.MaxRelativeErrorCharacteristic) * statistics.Mean;
        return (
            statistics.GetConfidenceInterval(Perfolizer.Mathematics.Common.ConfidenceLevel.L999).Margin,
            job.HasValue(AccuracyMode.MaxAbsoluteErrorCharacteristic) ? Math.Min(allowed, job.Accuracy.MaxAbsoluteError.Nanoseconds) : allowed);
    }

    private T Resolve<T>(Characteristic<T> characteristic) => job.ResolveValue(characteristic, resolver)!;
}

/// <summary>What a benchmark returns, as a text that can be compared: benchmarks that are compared with each other should do equal work.</summary>
internal static class ReturnedValue
{
    private const int Calls = 2;
    private static readonly Type[] Nothing = [typeof(void), typeof(Task), typeof(ValueTask)];

    /// <summary>Calls the benchmark twice more in each worker, after everything was measured: all at once, because calls may need each other.</summary>
    /// <returns>
    /// The value or the number of elements; <see langword="null"/> when the value tells nothing, or when the method has parameters. A value that not all calls
    /// give comes from state that they share, such as a counter: it says how often the benchmark was called, and nothing of its work.
    /// </returns>
    public static string? Of(EngineParameters parameters, BenchmarkWindows windows)
    {
        object instance = BenchmarkBinder.InstanceOf(parameters);
        MethodInfo method = BenchmarkBinder.MethodOf(instance, parameters.BenchmarkName);
        if (method.GetParameters().Length > 0 || method.ReturnType.IsByRef || method.ReturnType.IsByRefLike || Nothing.Contains(method.ReturnType))
        {
            return null;
        }

        ConcurrentDictionary<string, bool> texts = new();
        bool isAlike = true;
        object? target = method.IsStatic ? null : instance;
        Operation call = windows.IsAsync
            ? Operation.OfAsync(async Task () => Add(TextOf(await ResultAsync(Invoke()!).ConfigureAwait(false))))
            : Operation.Of(() => Add(TextOf(Invoke())));
        for (int i = 0; i < Calls; i++)
        {
            parameters.IterationSetupAction?.Invoke();
            windows.Once(call).Run();
            parameters.IterationCleanupAction?.Invoke();
        }

        return isAlike && texts.Count == 1 ? texts.Keys.Single() : null;

        object? Invoke() => method.Invoke(target, BindingFlags.DoNotWrapExceptions, null, null, null);

        void Add(string? text)
        {
            if (text is null || (texts.TryAdd(text, true) && texts.Count > 1))
            {
                isAlike = false;
            }
        }
    }

    internal static string? TextOf(object? value) => value switch
    {
        ICollection collection => $"{collection.Count.ToString(CultureInfo.InvariantCulture)} elements",
        bool or char or byte or short or int or long or uint or ulong or ushort or sbyte or decimal => Convert.ToString(value, CultureInfo.InvariantCulture),
        _ => null,
    };

    private static async Task<object?> ResultAsync(object awaitable)
    {
        Task task = awaitable as Task ?? (Task)awaitable.GetType().GetMethod(nameof(ValueTask<int>.AsTask))!.Invoke(awaitable, null)!;
        await task.ConfigureAwait(false);
        return task.GetType().GetProperty(nameof(Task<int>.Result))!.GetValue(task);
    }
}

/// <summary>Counts the exceptions that any thread throws while it lives.</summary>
internal sealed class ExceptionCounter : IDisposable
{
    private long _count;

    public ExceptionCounter() => AppDomain.CurrentDomain.FirstChanceException += Increment;

    public long Count => Volatile.Read(ref _count);

    public void Dispose() => AppDomain.CurrentDomain.FirstChanceException -= Increment;

    private void Increment(object? sender, FirstChanceExceptionEventArgs args) => Interlocked.Increment(ref _count);
}
