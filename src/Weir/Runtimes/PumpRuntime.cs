using System.Collections.Immutable;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>The common part of the runtimes that use the engine. They differ in their threads and their limit.</summary>
internal sealed class PumpRuntime(object owner, Executor executor, int limit, bool eager, RuntimeOptions options)
{
    /// <summary>How many outcomes of a stream may be ready for its consumer.</summary>
    private const int StreamCapacity = 1024;

    private readonly RuntimeCalls _calls = new(owner);

    public RuntimeStatistics Statistics => _calls.Statistics;

    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = Check(items, processor, processOptions);
        _calls.ThrowIfClosed();
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
        Start(RuntimeSource.Of(items, count), count, processor, new OutcomeSink<TResult>(completion), processOptions, cancellationToken, default);
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
        processOptions = Check(items, processor, processOptions);
        _calls.ThrowIfClosed();
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        int count = items.Count;
        if (count == 0)
        {
            return Task.FromResult<ItemOutcome<TResult>[]>([]);
        }

        // The items are already in memory, so any number of them may wait for their key, and no key ever stops another.
        KeyedSource<TItem, TKey> source = new(RuntimeSource.Of(items, count), partitionBy, null, processOptions.MaxPerPartition, count);
        OutcomeCompletion<TResult> completion = new(count);
        Start(
            source,
            count,
            processor,
            new LaneSink<TResult, OutcomeSink<TResult>>(new OutcomeSink<TResult>(completion), source),
            processOptions,
            cancellationToken,
            default);
        return completion.Task;
    }

    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = Check(items, processor, processOptions);
        _calls.ThrowIfClosed();
        int count = items.Count;
        return new PumpStream<(int Index, ItemOutcome<TResult> Outcome)>(
            limit,
            StreamCapacity,
            orderedOutput,
            (output, enumeratorToken) => Start(
                RuntimeSource.Of(items, count), count, processor, new OutcomeStreamSink<TResult>(output), processOptions, cancellationToken, enumeratorToken),
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
        processOptions = Check(items, processor, processOptions);
        _calls.ThrowIfClosed();
        int count = items.Count;
        return new PumpStream<(int Index, ItemOutcome<TResult> Outcome)>(
            limit,
            StreamCapacity,
            orderedOutput,
            (output, enumeratorToken) =>
            {
                KeyedSource<TItem, TKey> source = new(RuntimeSource.Of(items, count), partitionBy, null, processOptions.MaxPerPartition, count);
                LaneSink<TResult, OutcomeStreamSink<TResult>> sink = new(new OutcomeStreamSink<TResult>(output), source);
                return Start(source, count, processor, sink, processOptions, cancellationToken, enumeratorToken);
            },
            cancellationToken)
        {
            Missing = (count, static index => ((int)index, default)),
        };
    }

    public Task CloseAsync() => _calls.CloseAsync(options.GracePeriod, options.TimeProvider);

    private static ProcessManyOptions Check<TItem, TResult>(
        IReadOnlyList<TItem> items, Func<TItem, CancellationToken, ValueTask<TResult>> processor, ProcessManyOptions? processOptions)
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(processor);
        processOptions ??= ProcessManyOptions.Default;
        processOptions.Validate();
        return processOptions;
    }

    private Pump Start<TItem, TResult, TSink>(
        Source<TItem> source,
        int count,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        TSink sink,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken otherToken)
        where TSink : struct, ISink<TResult>
    {
        PumpSettings settings = new()
        {
            Limit = limit,
            ErrorMode = ErrorMode.BestEffort,
            PerItemTimeout = processOptions.PerItemTimeout,
            Guarded = true,
            TimeProvider = options.TimeProvider,
            Executor = executor,
        };
        CallEnd end = new(_calls);
        Pump pump = new Pump<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, RuntimeSink<TResult, TSink>>(
            source, new SelectorCall<TItem, TResult>(processor), new RuntimeSink<TResult, TSink>(sink, end), settings);
        end.Begin(pump, processOptions.BatchTimeout, options.TimeProvider);
        pump.Start(eager ? Math.Min(limit, count) : 1, cancellationToken, otherToken);
        return pump;
    }
}
