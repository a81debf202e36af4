using System.Collections.Immutable;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>The common part of the runtimes that use the engine. They differ in their threads and their limit.</summary>
internal sealed class PumpRuntime(object owner, Executor executor, int limit, bool eager, RuntimeOptions options)
{
    /// <summary>How many outcomes of a stream may be ready for its consumer.</summary>
    private const int StreamCapacity = 1024;

    private readonly RuntimeCalls _calls = new(owner);

    // The policies around an item, as those of an operator; null if there are none.
    private readonly ParallelRunOptions? _policies =
        options.MakeLimit() is { } shared ? new ParallelRunOptions { SharedConcurrencyLimit = shared, TimeProvider = options.TimeProvider } : null;

    public RuntimeStatistics Statistics => _calls.Statistics;

    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = _calls.Check(items, processor, processOptions);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        int count = items.Count;
        if (count == 0)
        {
            return Task.FromResult<ItemOutcome<TResult>[]>([]);
        }

        OutcomeCompletion<TResult> completion = new(count);
        PumpCall call = new(_calls, nameof(ProcessManyAsync), processOptions);
        Pump run = MakeRun(RuntimeSource.Of(items, count), processor, new OutcomeSink<TResult>(completion), Settings(processOptions, call));
        Start(run, call, count, processOptions, cancellationToken, default);
        return completion.Task;
    }

    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(partitionBy);
        processOptions = _calls.Check(items, processor, processOptions);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        int count = items.Count;
        if (count == 0)
        {
            return Task.FromResult<ItemOutcome<TResult>[]>([]);
        }

        KeyedSource<TItem, TKey> source = RuntimeSource.WithKeys(RuntimeSource.Of(items, count), partitionBy, processOptions);
        OutcomeCompletion<TResult> completion = new(count);
        PumpCall call = new(_calls, nameof(ProcessManyAsync), processOptions);
        Pump run = MakeRun(source, processor, new OutcomeSink<TResult>(completion), Settings(processOptions, call));
        Start(run, call, count, processOptions, cancellationToken, default);
        return completion.Task;
    }

    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = _calls.Check(items, processor, processOptions);
        int count = items.Count;
        return new PumpStream<(int Index, ItemOutcome<TResult> Outcome)>(
            limit,
            StreamCapacity,
            orderedOutput,
            (output, enumeratorToken) => StartStream(
                RuntimeSource.Of(items, count), count, processor, output, processOptions, cancellationToken, enumeratorToken),
            cancellationToken)
        {
            Missing = (count, static index => ((int)index, default)),
        };
    }

    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        bool orderedOutput,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(partitionBy);
        processOptions = _calls.Check(items, processor, processOptions);
        int count = items.Count;
        return new PumpStream<(int Index, ItemOutcome<TResult> Outcome)>(
            limit,
            StreamCapacity,
            orderedOutput,
            (output, enumeratorToken) =>
            {
                KeyedSource<TItem, TKey> source = RuntimeSource.WithKeys(RuntimeSource.Of(items, count), partitionBy, processOptions);
                return StartStream(source, count, processor, output, processOptions, cancellationToken, enumeratorToken);
            },
            cancellationToken)
        {
            Missing = (count, static index => ((int)index, default)),
        };
    }

    public Task CloseAsync() => _calls.CloseAsync(options.GracePeriod, options.TimeProvider);

    private Pump StartStream<TItem, TResult>(
        Source<TItem> source,
        int count,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        StreamOutput<(int Index, ItemOutcome<TResult> Outcome)> output,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken enumeratorToken)
    {
        PumpCall call = new(_calls, nameof(ProcessManyStreamAsync), processOptions);
        PumpSettings settings = Settings(processOptions, call);
        settings = settings is ControlledSettings controlled ? controlled with { OnLimit = limit => output.Widen(limit, StreamCapacity) } : settings;
        Pump run = MakeRun(source, processor, new OutcomeStreamSink<TResult>(output), settings);
        Start(run, call, count, processOptions, cancellationToken, enumeratorToken);
        return run;
    }

    private Pump MakeRun<TItem, TResult, TSink>(
        Source<TItem> source, Func<TItem, CancellationToken, ValueTask<TResult>> processor, TSink sink, PumpSettings settings)
        where TSink : struct, ISink<TResult> =>
        _policies is null ? PlainRun.Make(source, processor, sink, settings, null) : OperatorRun.Make(source, processor, sink, _policies, settings, null);

    private PumpSettings Settings(ProcessManyOptions processOptions, PumpCall call) =>
        (processOptions.Control ?? options.Control) is { } control
            ? new ControlledSettings(PlainSettings(processOptions, call), control)
            : PlainSettings(processOptions, call);

    private PumpSettings PlainSettings(ProcessManyOptions processOptions, PumpCall call) => new()
    {
        Limit = limit,
        ErrorMode = ErrorMode.BestEffort,
        PerItemTimeout = processOptions.PerItemTimeout,
        Guarded = true,
        TimeProvider = options.TimeProvider,
        Executor = executor,
        OnEnd = call.End,
        Operation = call.Operation,
        About = call,
        CountsPauses = RunObservation.IsMetered,
    };

    private void Start(
        Pump run, PumpCall call, int count, ProcessManyOptions processOptions, CancellationToken cancellationToken, CancellationToken otherToken)
    {
        call.Begin(run, processOptions.BatchTimeout, options.TimeProvider);
        run.Start(eager ? Math.Min(limit, count) : 1, cancellationToken, otherToken);
    }
}
