using Weir.Core.Dispatch;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>A runtime for work that waits. It keeps many items in flight on a few pool threads.</summary>
/// <remarks>
/// <see cref="ConcurrencyPerCall"/> limits each call. Ten callers have ten times as many items in flight: <see cref="RuntimeOptions.TotalConcurrency"/> limits
/// them together. Synchronous work uses as many threads as there are processors, and more only if it blocks them. See
/// <see cref="IExecutionRuntime"/> for the contract that all runtimes share.
/// </remarks>
public sealed class ConcurrentRuntime : IExecutionRuntime
{
    private readonly RuntimeCalls _calls;
    private readonly PumpRuntime _runtime;

    /// <summary>Creates the runtime.</summary>
    /// <param name="concurrencyPerCall">How many items of a single call may be in flight at once. At least 1.</param>
    /// <param name="options">The grace period and the clock; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="concurrencyPerCall"/> is less than 1, or the grace period is negative.</exception>
    public ConcurrentRuntime(int concurrencyPerCall = 100, RuntimeOptions? options = null)
    {
        Require.AtLeastOne(concurrencyPerCall, nameof(concurrencyPerCall));
        options ??= RuntimeOptions.Default;
        options.Validate();
        ConcurrencyPerCall = concurrencyPerCall;
        _calls = new RuntimeCalls(this);
        _runtime = new PumpRuntime(
            _calls, PoolExecutor.Instance, concurrencyPerCall, eager: false, options, new RuntimePolicies(options));
    }

    /// <summary>How many items of a single call may be in flight at once. <see cref="RuntimeOptions.TotalConcurrency"/> limits all calls together.</summary>
    public int ConcurrencyPerCall { get; }

    /// <inheritdoc/>
    public string Name => "concurrent";

    /// <inheritdoc/>
    public RuntimeStatistics Statistics => _calls.Statistics;

    /// <inheritdoc/>
    public Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        _runtime.ProcessManyAsync(items, processor, options, cancellationToken);

    /// <inheritdoc/>
    public IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        _runtime.ProcessManyStreamAsync(items, processor, orderedOutput, options, cancellationToken);

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => new(_runtime.CloseAsync());
}
