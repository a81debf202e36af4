using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Threads;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>A runtime that measures the items, chooses how to run them, and adjusts while they run.</summary>
/// <remarks>
/// <para>
/// It measures the first items of a call: how long they take, how much processor time they use, and whether they suspend. Then it runs the rest one after the
/// other, on all processors, as many calls in flight, or as a mixture. It has two budgets, threads and items in flight, and adjusts both during the call. It
/// remembers what it learned about a processor for that processor's next call. It records every decision with its reason: see
/// <see cref="ProcessManyWithDecisionsAsync{TItem, TResult}(IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}}, ProcessManyOptions,
/// CancellationToken)"/> and <see cref="LastDecisions"/>.
/// </para>
/// <para>
/// <see cref="MaxConcurrencyPerCall"/> limits each call. Ten callers can have ten times as many items in flight: <see cref="RuntimeOptions.TotalConcurrency"/>
/// limits them together.
/// </para>
/// <para>
/// A call with <see cref="ProcessManyOptions.Policies"/> is not measured, because its items wait outside their calls: it runs as in a
/// <see cref="ConcurrentRuntime"/> with <see cref="MaxConcurrencyPerCall"/>, and makes no decisions.
/// </para>
/// <para>User code never runs on the caller's thread. See <see cref="IExecutionRuntime"/> for the contract that all runtimes share.</para>
/// </remarks>
public sealed class AutoRuntime : IExecutionRuntime
{
    private readonly RuntimeCalls _calls;
    private readonly ThreadTeam _team;
    private readonly AutoProfiles _profiles = new();
    private readonly AutoBudget _budget;
    private readonly PumpRuntime _runtime;
    private volatile AutoPilot? _last;

    /// <summary>Creates the runtime. It starts threads only when it needs them.</summary>
    /// <param name="maxConcurrencyPerCall">The most items of a single call that may be in flight at once. At least 1.</param>
    /// <param name="maxThreads">
    /// The most threads that a call may keep busy with items that compute. At least 1; <see langword="null"/> for the number of processors. Items that block
    /// their thread get more threads, up to <paramref name="maxConcurrencyPerCall"/>.
    /// </param>
    /// <param name="options">The grace period and the clock; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">
    /// <paramref name="maxConcurrencyPerCall"/> or <paramref name="maxThreads"/> is less than 1, or the grace period is negative.
    /// </exception>
    public AutoRuntime(int maxConcurrencyPerCall = 200, int? maxThreads = null, RuntimeOptions? options = null)
    {
        Require.AtLeastOne(maxConcurrencyPerCall, nameof(maxConcurrencyPerCall));
        Require.AtLeastOne(maxThreads ?? 1, nameof(maxThreads));
        options ??= RuntimeOptions.Default;
        options.Validate();
        MaxConcurrencyPerCall = maxConcurrencyPerCall;
        MaxThreads = maxThreads ?? Environment.ProcessorCount;
        _calls = new RuntimeCalls(this);
        _team = new ThreadTeam(Math.Max(maxConcurrencyPerCall, MaxThreads), "Weir auto", keeps: false);
        _budget = new AutoBudget(MaxThreads, maxConcurrencyPerCall);
        _runtime = new PumpRuntime(_calls, PoolExecutor.Instance, maxConcurrencyPerCall, eager: false, options, new RuntimePolicies(options))
        {
            MakeCall = MakeCall,
        };
    }

    /// <summary>
    /// The most items of a single call that may be in flight at once. <see cref="RuntimeOptions.TotalConcurrency"/> limits all calls together.
    /// </summary>
    public int MaxConcurrencyPerCall { get; }

    /// <summary>The most threads that a call may keep busy with items that compute.</summary>
    public int MaxThreads { get; }

    /// <inheritdoc/>
    public string Name => "auto";

    /// <inheritdoc/>
    public RuntimeStatistics Statistics => _calls.Statistics with { ReplacedThreads = _team.Replaced };

    /// <summary>The decisions of the call that ended last, whoever made it, in chronological order; empty if no call has ended.</summary>
    public IReadOnlyList<AutoDecision> LastDecisions => _last?.Decisions ?? [];

    /// <inheritdoc/>
    public Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        _runtime.ProcessManyAsync(items, processor, options, cancellationToken);

    /// <summary>Runs all items and returns one outcome per item, together with the decisions of the call.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="items">
    /// The items. A list must not change during the call; any other sequence is read while the call goes on, one step at a time.
    /// </param>
    /// <param name="processor">The call for an item. Its token is cancelled when the time limit of the item or of the call passes.</param>
    /// <param name="options">The time limits; <see langword="null"/> for none.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>Exactly one outcome per item, in input order, and the decisions. An item's failure is never thrown.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed. Thrown at the call.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public Task<AutoResult<TItem, TResult>> ProcessManyWithDecisionsAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options = _calls.Check(items, processor, options, typeof(TResult));
        if (options.Policies?.Resume is not null)
        {
            // With policies there are no decisions.
            return WithDecisionsAsync(_runtime.ProcessManyAsync(items, processor, options, cancellationToken), null);
        }

        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        return WithDecisionsAsync(_runtime.StartMany(items, keys, processor, options, out RuntimeCall? call, cancellationToken), call as AutoCall);
    }

    /// <inheritdoc cref="ProcessManyWithDecisionsAsync{TItem, TResult}(IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask{TResult}},
    ///     ProcessManyOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public Task<AutoResult<TItem, TResult>> ProcessManyWithDecisionsAsync<TItem, TResult>(
        IAsyncEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ProcessManyWithDecisionsAsync(AwaitedItems<TItem>.Of(items), processor, options, cancellationToken);

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

    private static async Task<AutoResult<TItem, TResult>> WithDecisionsAsync<TItem, TResult>(Task<ItemOutcome<TItem, TResult>[]> outcomes, AutoCall? call) =>
        new(await outcomes.ConfigureAwait(false), call?.Pilot.Decisions ?? []);

    private AutoCall MakeCall(string operation, ProcessManyOptions options, Delegate processor, int count)
    {
        AutoExecutor executor = new(_team, MaxThreads);
        AutoPilot pilot = new(executor, _budget, count < 0 ? int.MaxValue : count, _profiles.Find(processor));
        return new AutoCall(_calls, operation, options, pilot, _budget, ended =>
        {
            if (ended.Profile is { } profile)
            {
                _profiles.Keep(processor, profile);
            }

            _last = ended;
        });
    }
}

/// <summary>One call of an <see cref="AutoRuntime"/>: a run of the engine whose limit and threads a pilot moves.</summary>
/// <param name="calls">The running calls of the runtime.</param>
/// <param name="operation">The method that was called.</param>
/// <param name="options">The options of the call.</param>
/// <param name="pilot">The pilot.</param>
/// <param name="budget">What the calls of the runtime share.</param>
/// <param name="ended">Told once when the call has ended.</param>
internal sealed class AutoCall(
    RuntimeCalls calls, string operation, ProcessManyOptions options, AutoPilot pilot, AutoBudget budget, Action<AutoPilot> ended)
    : RuntimeCall(calls, operation, options)
{
    public AutoPilot Pilot => pilot;

    public override PumpSettings Steer(PumpSettings settings) =>
        settings with { Limit = pilot.InFlight, Executor = pilot.Executor, Pilot = pilot };

    public override void Begin(Pump run)
    {
        pilot.Steer(run);

        // First: the call may end at once.
        budget.Enter();
        try
        {
            base.Begin(run);
        }
        catch
        {
            budget.Leave();
            throw;
        }
    }

    protected override void Leave()
    {
        pilot.Release();
        base.Leave();
        budget.Leave();
        ended(pilot);
    }
}
