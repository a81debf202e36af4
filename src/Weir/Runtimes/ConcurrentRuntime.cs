using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>A runtime for work that waits. It keeps many items in flight on a few pool threads.</summary>
/// <remarks>
/// The concurrency limits each call. Synchronous work uses as many threads as there are processors, and more only if it blocks them. See
/// <see cref="IExecutionRuntime"/> for the contract that all runtimes share.
/// </remarks>
public sealed class ConcurrentRuntime : IExecutionRuntime
{
    private readonly PumpRuntime _runtime;

    /// <summary>Creates the runtime.</summary>
    /// <param name="concurrency">How many items of a call may be in flight at once. At least 1.</param>
    /// <param name="options">The grace period and the clock; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="concurrency"/> is less than 1, or the grace period is negative.</exception>
    public ConcurrentRuntime(int concurrency = 100, RuntimeOptions? options = null)
    {
        Require.AtLeastOne(concurrency, nameof(concurrency));
        options ??= RuntimeOptions.Default;
        options.Validate();
        Concurrency = concurrency;
        _runtime = new PumpRuntime(this, PoolExecutor.Instance, concurrency, eager: false, options);
    }

    /// <summary>How many items of a call may be in flight at once.</summary>
    public int Concurrency { get; }

    /// <inheritdoc/>
    public string Name => "concurrent";

    /// <inheritdoc/>
    public RuntimeStatistics Statistics => _runtime.Statistics;

    /// <inheritdoc/>
    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        _runtime.ProcessManyAsync(items, processor, options, cancellationToken);

    /// <inheritdoc/>
    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull =>
        _runtime.ProcessManyAsync(items, processor, partitionBy, options, cancellationToken);

    /// <inheritdoc/>
    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        _runtime.ProcessManyStreamAsync(items, processor, orderedOutput, options, cancellationToken);

    /// <inheritdoc/>
    public IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        Func<TItem, TKey> partitionBy,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
        where TKey : notnull =>
        _runtime.ProcessManyStreamAsync(items, processor, partitionBy, orderedOutput, options, cancellationToken);

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => new(_runtime.CloseAsync());
}
