using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>
/// What the runtimes have in common: each call is a run of the engine. They differ in their threads and their limit, and in who moves these.
/// </summary>
/// <param name="calls">The running calls of the runtime.</param>
/// <param name="executor">The threads.</param>
/// <param name="limit">How many items of a call may be in flight.</param>
/// <param name="eager">Whether a call starts with as many workers as it may have.</param>
/// <param name="options">The options of the runtime.</param>
/// <param name="policies">Its policies.</param>
internal sealed class PumpRuntime(
    RuntimeCalls calls, Executor executor, int limit, bool eager, RuntimeOptions options, RuntimePolicies policies)
{
    /// <summary>How many outcomes of a stream may be ready for its consumer; 0 if an item starts when its outcome is asked for.</summary>
    public int StreamCapacity { get; init; } = 1024;

    /// <summary>
    /// Makes a call whose limit and threads are moved while it goes on, from its operation, options, processor and count; null if there are no such calls.
    /// </summary>
    public Func<string, ProcessManyOptions, Delegate, int, RuntimeCall>? MakeCall { get; init; }

    /// <summary>Whether no control can raise the limit.</summary>
    public bool HasFixedLimit { get; init; }

    public Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = calls.Check(items, processor, processOptions, typeof(TResult));
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        return StartMany(items, keys, processor, processOptions, out _, cancellationToken);
    }

    public IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = calls.Check(items, processor, processOptions, typeof(TResult));
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        return Stream(items, keys, processor, orderedOutput, processOptions, cancellationToken);
    }

    /// <summary>Runs the items of a call whose arguments have been checked.</summary>
    public Task<ItemOutcome<TItem, TResult>[]> StartMany<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions processOptions,
        out RuntimeCall? call,
        CancellationToken cancellationToken)
    {
        call = null;
        ParallelRunOptions? around = policies.Of<TItem, TResult>(processOptions);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TItem, TResult>[]>(cancellationToken);
        }

        Source<TItem> source = RuntimeSource.Of(items, keys, out int count);
        if (count == 0)
        {
            return Task.FromResult<ItemOutcome<TItem, TResult>[]>([]);
        }

        OutcomeCompletion<TItem, TResult> completion = CompletionOf<TItem, TResult>(count, processOptions, around, options.TimeProvider);
        call = CallOf(nameof(ProcessManyAsync), processOptions, processor, count);
        PumpSettings settings = Settings(processOptions, around, call);
        if (count > 0)
        {
            OutcomeSink<TItem, TResult> sink = new(completion, new(source, keepsAll: true));
            Start(source, processor, sink, around, settings, call, processOptions, cancellationToken, default);
        }
        else
        {
            StartGrowing(source, processor, completion, around, settings, call, processOptions, cancellationToken);
        }

        return completion.Task;
    }

    /// <summary>The outcomes of a call whose arguments have been checked.</summary>
    private PumpStream<(int Index, ItemOutcome<TItem, TResult> Outcome)> Stream<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken)
    {
        ParallelRunOptions? around = policies.Of<TItem, TResult>(processOptions);
        return new PumpStream<(int Index, ItemOutcome<TItem, TResult> Outcome)>(
            limit,
            StreamCapacity,
            orderedOutput,
            (output, enumeratorToken) =>
            {
                Source<TItem> source = RuntimeSource.Of(items, keys, out int count);
                RuntimeCall call = CallOf(nameof(ProcessManyStreamAsync), processOptions, processor, count);
                return StartStream(source, count, processor, output, around, call, processOptions, cancellationToken, enumeratorToken);
            },
            cancellationToken)
        {
            Unused = UnusedOfCall.IndexedOutcomes<TItem, TResult>(processOptions, around, options.TimeProvider),
        };
    }

    /// <summary>The end of a call whose outcomes are returned together.</summary>
    private static OutcomeCompletion<TItem, TResult> CompletionOf<TItem, TResult>(
        int count, ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        UnusedOfCall.Outcomes<TItem, TResult>(options, policies, time) is { } unused
            ? new OwningOutcomeCompletion<TItem, TResult>(Math.Max(0, count), false, unused)
            : new OutcomeCompletion<TItem, TResult>(Math.Max(0, count));

    public Task CloseAsync() => calls.CloseAsync(options.GracePeriod, options.TimeProvider);

    private Pump StartStream<TItem, TResult>(
        Source<TItem> source,
        int count,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        StreamOutput<(int Index, ItemOutcome<TItem, TResult> Outcome)> output,
        ParallelRunOptions? around,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken enumeratorToken)
    {
        PumpSettings settings = Settings(processOptions, around, call);
        if (settings is ControlledSettings { MovesLimit: false } controlled)
        {
            settings = controlled with { OnLimit = limit => output.Widen(limit, StreamCapacity) };
        }

        OutcomeStreamSink<TItem, TResult> sink = new(output, count, new(source, keepsAll: false));
        return Start(source, processor, sink, around, settings, call, processOptions, cancellationToken, enumeratorToken);
    }

    // Separate, so that the first call of a process does not load what only a sequence needs.
    private void StartGrowing<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        OutcomeCompletion<TItem, TResult> completion,
        ParallelRunOptions? around,
        PumpSettings settings,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken)
    {
        GrowingOutcomeSink<TItem, TResult> sink = new(completion, new(source, keepsAll: true));
        Start(source, processor, sink, around, settings, call, processOptions, cancellationToken, default);
    }

    private Pump Start<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        TSink sink,
        ParallelRunOptions? around,
        PumpSettings settings,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken otherToken)
        where TSink : struct, ISink<TResult>
    {
        ParallelRunOptions policies = around ?? ParallelRunOptions.Default;
        if (RunObservation.IsWanted(policies))
        {
            return StartObserved(source, processor, sink, around, settings, call, processOptions, cancellationToken, otherToken);
        }

        Pump run = OperatorRun.Make(source, processor, sink, policies, OperatorRun.WithHooks(settings, policies), null);
        Start(run, call, source.KnownCount, processOptions, cancellationToken, otherToken);
        return run;
    }

    private Pump StartObserved<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        TSink sink,
        ParallelRunOptions? around,
        PumpSettings settings,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken otherToken)
        where TSink : struct, ISink<TResult>
    {
        ParallelRunOptions observed = (around ?? ParallelRunOptions.Default) with
        {
            MaxDegreeOfParallelism = limit,
            OperationName = processOptions.OperationName,
            Metrics = MetricsOptions.WithTags(around?.Metrics, processOptions.Tags),
            TimeProvider = options.TimeProvider,
        };
        return OperatorRun.StartObserved(
            source,
            processor,
            sink,
            observed,
            OperatorRun.WithHooks(settings, observed),
            null,
            call.Label,
            run => Start(run, call, source.KnownCount, processOptions, cancellationToken, otherToken));
    }

    // What a call with policies waits for outside of its items says nothing about them.
    private RuntimeCall CallOf(string operation, ProcessManyOptions processOptions, Delegate processor, int count) =>
        MakeCall is null || policies.AreSet(processOptions)
            ? new RuntimeCall(calls, operation, processOptions)
            : MakeCall(operation, processOptions, processor, count);

    private PumpSettings Settings(ProcessManyOptions processOptions, ParallelRunOptions? around, RuntimeCall call)
    {
        PumpSettings settings = call.Steer(PlainSettings(processOptions, around, call));
        return (processOptions.Control ?? options.Control) is { } control
            ? new ControlledSettings(settings, control) { MovesLimit = HasFixedLimit || settings.Pilot is not null }
            : settings;
    }

    private PumpSettings PlainSettings(ProcessManyOptions processOptions, ParallelRunOptions? around, RuntimeCall call) => new()
    {
        Limit = limit,
        ErrorMode = ErrorMode.BestEffort,
        PerItemTimeout = processOptions.PerItemTimeout ?? around?.PerItemTimeout,
        Guarded = true,
        TimeProvider = options.TimeProvider,
        Executor = executor,
        OnEnd = call.End,
        Operation = call.Operation,
        About = call,
        CountsPauses = RunObservation.IsMetered && StreamCapacity > 0,
    };

    private void Start(
        Pump run, RuntimeCall call, int count, ProcessManyOptions processOptions, CancellationToken cancellationToken, CancellationToken otherToken)
    {
        call.Begin(run, processOptions.TotalTimeout, options.TimeProvider);
        try
        {
            run.Start(eager ? Math.Clamp(count, 1, limit) : 1, cancellationToken, otherToken);
        }
        catch
        {
            call.End();
            throw;
        }
    }
}
