using Weir.Core.Dispatch;
using Weir.Observability;

namespace Weir.Runtimes;

/// <summary>
/// A runtime for tiny work: a loop on the caller's thread that runs one item after the other, with nothing between the caller and the processor.
/// </summary>
/// <remarks>
/// <para>
/// Items run on the caller's thread, in input order, and without an allocation per item. When the processor awaits, the call continues wherever that await
/// completes, without capturing a context. A time limit cannot interrupt a processor that blocks the thread: it takes effect when the processor returns or
/// awaits.
/// </para>
/// <para>
/// A call has one item in flight. Ten callers have ten: <see cref="RuntimeOptions.TotalConcurrency"/> limits them together. An item waits for its place inside
/// its call, so the wait counts towards <see cref="ProcessManyOptions.PerItemTimeout"/>.
/// </para>
/// <para>
/// A call with <see cref="ProcessManyOptions.Policies"/>, or whose items are no list, uses the engine: still one item at a time, on the caller's thread until
/// one waits, and on the thread pool from then on. The items of such a stream run on the thread pool.
/// </para>
/// <para>See <see cref="IExecutionRuntime"/> for the contract that all runtimes share.</para>
/// </remarks>
public sealed class DirectRuntime : IExecutionRuntime
{
    private readonly RuntimeOptions _options;
    private readonly RuntimeCalls _calls;
    private readonly RuntimePolicies _policies;
    private readonly PumpRuntime _pumps;

    /// <summary>Creates the runtime.</summary>
    /// <param name="options">The grace period and the clock; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">The grace period is negative.</exception>
    public DirectRuntime(RuntimeOptions? options = null)
    {
        _options = options ?? RuntimeOptions.Default;
        _options.Validate();
        _calls = new RuntimeCalls(this);
        _policies = new RuntimePolicies(_options);
        _pumps = new PumpRuntime(_calls, CallerExecutor.Instance, limit: 1, eager: false, _options, _policies)
        {
            StreamExecutor = PoolExecutor.Instance,
            HasFixedLimit = true,
        };
    }

    /// <inheritdoc/>
    public string Name => "direct";

    /// <inheritdoc/>
    public RuntimeStatistics Statistics => _calls.Statistics;

    /// <inheritdoc/>
    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options = _calls.Check(items, processor, options, typeof(TResult));
        if (ListOf(items, options) is not { } list)
        {
            return _pumps.StartMany(items, processor, null, options, cancellationToken);
        }

        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        if (list.Count > 0 && RunObservation.WantsItems && items is not INumberedItems)
        {
            return TracedItems<TItem, TResult>.CallAsync(
                list,
                processor,
                Name,
                1,
                options,
                traced => ProcessManyAsync(traced.Items, traced.InvokeAsync, options, cancellationToken),
                static outcomes => outcomes);
        }

        ItemOutcome<TResult>[] outcomes = list.Count == 0 ? [] : new ItemOutcome<TResult>[list.Count];
        Func<TItem, CancellationToken, ValueTask<TResult>> limited = LimitedProcessor<TItem, TResult>.Of(processor, _policies.Limit);
        DirectCall<TItem, TResult> call = new(
            list, limited, options, _options.TimeProvider, _calls, nameof(ProcessManyAsync), _options.Control, cancellationToken);
        return call.RunAsync(outcomes);
    }

    /// <inheritdoc/>
    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult, TKey>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(partitionBy);
        options = _calls.Check(items, processor, options, typeof(TResult));
        if (ListOf(items, options) is not { } list)
        {
            return _pumps.ProcessManyAsync(items, processor, partitionBy, options, cancellationToken);
        }

        try
        {
            CheckKeys(list, partitionBy, cancellationToken);
        }
        catch (Exception e)
        {
            return Task.FromException<ItemOutcome<TResult>[]>(e);
        }

        return ProcessManyAsync(items, processor, options, cancellationToken);
    }

    /// <inheritdoc/>
    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options = _calls.Check(items, processor, options, typeof(TResult));
        if (ListOf(items, options) is not { } list)
        {
            return _pumps.Stream(items, processor, null, orderedOutput, options, cancellationToken);
        }

        if (RunObservation.WantsItems && items is not INumberedItems)
        {
            return TracedItems<TItem, TResult>.StreamAsync(
                list,
                processor,
                Name,
                1,
                options,
                traced => ProcessManyStreamAsync(traced.Items, traced.InvokeAsync, orderedOutput, options, cancellationToken),
                CancellationToken.None);
        }

        processor = LimitedProcessor<TItem, TResult>.Of(processor, _policies.Limit);
        return new DirectStream<TItem, TResult>(list, processor, options, _options.TimeProvider, _calls, _options.Control, cancellationToken);
    }

    /// <inheritdoc/>
    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult, TKey>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(partitionBy);
        options = _calls.Check(items, processor, options, typeof(TResult));
        if (ListOf(items, options) is not { } list)
        {
            return _pumps.ProcessManyStreamAsync(items, processor, partitionBy, orderedOutput, options, cancellationToken);
        }

        if (RunObservation.WantsItems && items is not INumberedItems)
        {
            return TracedItems<TItem, TResult>.StreamAsync(
                list,
                processor,
                Name,
                1,
                options,
                traced => ProcessManyStreamAsync(
                    traced.Items, traced.InvokeAsync, item => partitionBy(item.Item), orderedOutput, options, cancellationToken),
                CancellationToken.None);
        }

        processor = LimitedProcessor<TItem, TResult>.Of(processor, _policies.Limit);
        return new DirectStream<TItem, TResult>(list, processor, options, _options.TimeProvider, _calls, _options.Control, cancellationToken)
        {
            BeforeFirst = token => CheckKeys(list, partitionBy, token),
        };
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => new(_calls.CloseAsync(_options.GracePeriod, _options.TimeProvider));

    /// <summary>The items as a list for a loop over them; null if the call needs the engine.</summary>
    private IReadOnlyList<TItem>? ListOf<TItem>(IEnumerable<TItem> items, ProcessManyOptions options) =>
        _policies.AreSet(options) ? null : items as IReadOnlyList<TItem>;

    // One item runs at a time and in order, whatever its key. But the contract of all runtimes demands that every item has a key.
    private static void CheckKeys<TItem, TKey>(IReadOnlyList<TItem> items, Func<TItem, TKey> partitionBy, CancellationToken cancellationToken)
    {
        for (int index = 0; index < items.Count && !cancellationToken.IsCancellationRequested; index++)
        {
            if (partitionBy(items[index]) is null)
            {
                throw new InvalidOperationException($"The key of the item at index {index} is null.");
            }
        }
    }
}
