using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>
/// A runtime for tiny work: a loop on the caller's thread that runs one item after the other, without handing any to another thread.
/// </summary>
/// <remarks>
/// <para>
/// Items run on the caller's thread until one waits, in input order and without an allocation per item. When the processor awaits, the call continues on the
/// thread on which that await completes if it is one of the thread pool, and otherwise on the pool, without capturing a context. Each step of a stream runs the
/// next item, on the thread of that step unless an item waits; while items take next to no time, it runs up to 64 for the steps that follow.
/// </para>
/// <para>
/// A call has one item in flight. Ten callers have ten: <see cref="RuntimeOptions.TotalConcurrency"/> limits them together. An item that waits for its permit,
/// for its next attempt or for a circuit lets the next items of its call run, as in all runtimes.
/// </para>
/// <para>
/// An item that blocks the caller's thread is given up at its time limit as in all runtimes, and the other items run on the thread pool. But the call returns
/// its task only when the processor returns.
/// </para>
/// <para>See <see cref="IExecutionRuntime"/> for the contract that all runtimes share.</para>
/// </remarks>
public sealed class DirectRuntime : IExecutionRuntime
{
    private readonly RuntimeCalls _calls;
    private readonly PumpRuntime _runtime;

    /// <summary>Creates the runtime.</summary>
    /// <param name="options">The grace period and the clock; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">The grace period is negative.</exception>
    public DirectRuntime(RuntimeOptions? options = null)
    {
        options ??= RuntimeOptions.Default;
        options.Validate();
        _calls = new RuntimeCalls(this);
        _runtime = new PumpRuntime(_calls, CallerExecutor.Instance, limit: 1, eager: false, options, new RuntimePolicies(options))
        {
            StreamCapacity = 0,
            HasFixedLimit = true,
        };
    }

    /// <inheritdoc/>
    public string Name => "direct";

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
