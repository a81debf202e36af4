using Weir.Core.Dispatch;
using Weir.Observability;
using Weir.Operators;

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
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        if (ListOf(items, options) is not { } list)
        {
            return _pumps.StartMany(items, keys, processor, options, cancellationToken);
        }

        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        try
        {
            CheckKeys(list, keys, cancellationToken);
        }
        catch (Exception e)
        {
            return Task.FromException<ItemOutcome<TResult>[]>(e);
        }

        return list.Count > 0 && RunObservation.WantsItems
            ? TracedItems<TItem, TResult>.CallAsync(
                list,
                processor,
                Name,
                1,
                options,
                traced => RunAsync((IReadOnlyList<NumberedItem<TItem>>)traced.Items, traced.InvokeAsync, options, cancellationToken),
                static outcomes => outcomes)
            : RunAsync(list, processor, options, cancellationToken);
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
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        if (ListOf(items, options) is not { } list)
        {
            return _pumps.Stream(items, keys, processor, orderedOutput, options, cancellationToken);
        }

        return RunObservation.WantsItems
            ? TracedItems<TItem, TResult>.StreamAsync(
                list,
                processor,
                Name,
                1,
                options,
                traced => Stream(
                    (IReadOnlyList<NumberedItem<TItem>>)traced.Items,
                    NumberedItem<TItem>.KeysOf(keys),
                    traced.InvokeAsync,
                    options,
                    cancellationToken),
                CancellationToken.None)
            : Stream(list, keys, processor, options, cancellationToken);
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => new(_calls.CloseAsync(_options.GracePeriod, _options.TimeProvider));

    private Task<ItemOutcome<TResult>[]> RunAsync<TItem, TResult>(
        IReadOnlyList<TItem> list,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions options,
        CancellationToken cancellationToken)
    {
        ItemOutcome<TResult>[] outcomes = list.Count == 0 ? [] : new ItemOutcome<TResult>[list.Count];
        processor = LimitedProcessor<TItem, TResult>.Of(processor, _policies.Limit);
        DirectCall<TItem, TResult> call = new(
            list, processor, options, _options.TimeProvider, _calls, nameof(ProcessManyAsync), _options.Control, cancellationToken);
        return call.RunAsync(outcomes);
    }

    private DirectStream<TItem, TResult> Stream<TItem, TResult>(
        IReadOnlyList<TItem> list,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions options,
        CancellationToken cancellationToken)
    {
        processor = LimitedProcessor<TItem, TResult>.Of(processor, _policies.Limit);
        return new DirectStream<TItem, TResult>(list, processor, options, _options.TimeProvider, _calls, _options.Control, cancellationToken)
        {
            BeforeFirst = token => CheckKeys(list, keys, token),
        };
    }

    /// <summary>The items as a list for a loop over them; null if the call needs the engine.</summary>
    private IReadOnlyList<TItem>? ListOf<TItem>(IEnumerable<TItem> items, ProcessManyOptions options) =>
        _policies.AreSet(options) ? null : items as IReadOnlyList<TItem>;

    // One item runs at a time and in order, whatever its key. But the contract of all runtimes demands that every item has a key.
    private static void CheckKeys<TItem>(IReadOnlyList<TItem> items, ItemKeys<TItem>? keys, CancellationToken cancellationToken)
    {
        for (int index = 0; keys is not null && index < items.Count && !cancellationToken.IsCancellationRequested; index++)
        {
            if (!keys.HasKey(items[index]))
            {
                throw new InvalidOperationException($"The key of the item at index {index} is null.");
            }
        }
    }
}
