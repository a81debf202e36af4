using Weir.Core.Dispatch;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>A runtime for work that computes. It has dedicated threads, which it starts when it is created and keeps across calls.</summary>
/// <remarks>
/// <para>
/// Calls share the threads fairly: each call gets slices of about a millisecond in turn, so that a call with a single item does not wait for a call with a
/// million. A thread that died, or is stuck in an abandoned item (past its time limit, its call's limit, or the grace period), is replaced by a new one, and
/// the call's other items run elsewhere.
/// </para>
/// <para>
/// All calls share the threads. An item that awaits counts towards its call's limit but holds no thread, so ten callers can have ten times as many items in
/// flight: <see cref="RuntimeOptions.TotalConcurrency"/> limits them together. See <see cref="IExecutionRuntime"/> for the contract that all runtimes share.
/// </para>
/// </remarks>
public sealed class ParallelRuntime : IExecutionRuntime
{
    private readonly RuntimeCalls _calls;
    private readonly PumpRuntime _runtime;
    private readonly ThreadTeam _team;

    /// <summary>Creates the runtime and starts its threads.</summary>
    /// <param name="workers">
    /// The number of threads, and so of items that run at once. At least 1; <see langword="null"/> for the number of processors.
    /// </param>
    /// <param name="options">The grace period and the clock; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="workers"/> is less than 1, or the grace period is negative.</exception>
    public ParallelRuntime(int? workers = null, RuntimeOptions? options = null)
    {
        Require.AtLeastOne(workers ?? 1, nameof(workers));
        options ??= RuntimeOptions.Default;
        options.Validate();
        Workers = workers ?? Environment.ProcessorCount;
        _team = new ThreadTeam(Workers, "Weir parallel");
        _calls = new RuntimeCalls(this);
        _runtime = new PumpRuntime(_calls, _team, Workers, eager: true, options, new RuntimePolicies(options));
    }

    /// <summary>The number of threads.</summary>
    public int Workers { get; }

    /// <inheritdoc/>
    public string Name => "parallel";

    /// <inheritdoc/>
    public RuntimeStatistics Statistics => _calls.Statistics with { ReplacedThreads = _team.Replaced };

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
    public async ValueTask DisposeAsync()
    {
        await _runtime.CloseAsync().ConfigureAwait(false);
        _team.Dispose();
    }
}
