using Weir.Resilience;

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
/// <para>See <see cref="IExecutionRuntime"/> for the contract that all runtimes share.</para>
/// </remarks>
public sealed class DirectRuntime : IExecutionRuntime
{
    private readonly RuntimeOptions _options;
    private readonly RuntimeCalls _calls;
    private readonly SharedConcurrencyLimit? _limit;

    /// <summary>Creates the runtime.</summary>
    /// <param name="options">The grace period and the clock; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">The grace period is negative.</exception>
    public DirectRuntime(RuntimeOptions? options = null)
    {
        _options = options ?? RuntimeOptions.Default;
        _options.Validate();
        _calls = new RuntimeCalls(this);
        _limit = _options.MakeLimit();
    }

    /// <inheritdoc/>
    public string Name => "direct";

    /// <inheritdoc/>
    public RuntimeStatistics Statistics => _calls.Statistics;

    /// <inheritdoc/>
    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options = _calls.Check(items, processor, options);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        ItemOutcome<TResult>[] outcomes = items.Count == 0 ? [] : new ItemOutcome<TResult>[items.Count];
        Func<TItem, CancellationToken, ValueTask<TResult>> limited = LimitedProcessor<TItem, TResult>.Of(processor, _limit);
        DirectCall<TItem, TResult> call = new(
            items, limited, options, _options.TimeProvider, _calls, nameof(ProcessManyAsync), _options.Control, cancellationToken);
        return call.RunAsync(outcomes);
    }

    /// <inheritdoc/>
    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(partitionBy);
        _calls.Check(items, processor, options);

        try
        {
            CheckKeys(items, partitionBy, cancellationToken);
        }
        catch (Exception e)
        {
            return Task.FromException<ItemOutcome<TResult>[]>(e);
        }

        return ProcessManyAsync(items, processor, options, cancellationToken);
    }

    /// <inheritdoc/>
    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options = _calls.Check(items, processor, options);
        processor = LimitedProcessor<TItem, TResult>.Of(processor, _limit);
        return new DirectStream<TItem, TResult>(items, processor, options, _options.TimeProvider, _calls, _options.Control, cancellationToken);
    }

    /// <inheritdoc/>
    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(partitionBy);
        options = _calls.Check(items, processor, options);
        processor = LimitedProcessor<TItem, TResult>.Of(processor, _limit);
        return new DirectStream<TItem, TResult>(items, processor, options, _options.TimeProvider, _calls, _options.Control, cancellationToken)
        {
            BeforeFirst = token => CheckKeys(items, partitionBy, token),
        };
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => new(_calls.CloseAsync(_options.GracePeriod, _options.TimeProvider));

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
