using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>A runtime that measures the items, chooses how to run them, and adjusts while they run.</summary>
/// <remarks>
/// <para>
/// It measures the first items of a call: how long they take, how much processor time they use, and whether they suspend. Then it runs the rest one after the
/// other, on all processors, as many calls in flight, or as a mixture. It has two budgets, threads and items in flight, and adjusts both during the call. It
/// remembers what it learned about a processor for that processor's next call. It records every decision with its reason: see
/// <see cref="ProcessManyWithDecisionsAsync"/> and <see cref="LastDecisions"/>.
/// </para>
/// <para>
/// <see cref="MaxConcurrencyPerCall"/> limits each call. Ten callers can have ten times as many items in flight: <see cref="RuntimeOptions.TotalConcurrency"/>
/// limits them together. An item waits for its place inside its call, so the wait counts towards <see cref="ProcessManyOptions.PerItemTimeout"/>.
/// </para>
/// <para>
/// A call with <see cref="ProcessManyOptions.Policies"/> is not measured, because its items wait outside their calls: it runs as in a
/// <see cref="ConcurrentRuntime"/> with <see cref="MaxConcurrencyPerCall"/>, and makes no decisions.
/// </para>
/// <para>User code never runs on the caller's thread. See <see cref="IExecutionRuntime"/> for the contract that all runtimes share.</para>
/// </remarks>
public sealed class AutoRuntime : IExecutionRuntime
{
    /// <summary>How many outcomes of a stream may be ready for its consumer.</summary>
    private const int StreamCapacity = 1024;

    private readonly RuntimeOptions _options;
    private readonly RuntimeCalls _calls;
    private readonly ThreadTeam _team;
    private readonly AutoProfiles _profiles = new();
    private readonly Action<AutoCall> _ended;
    private readonly AutoBudget _budget;
    private readonly RuntimePolicies _policies;
    private readonly PumpRuntime _pumps;
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
        _options = options ?? RuntimeOptions.Default;
        _options.Validate();
        MaxConcurrencyPerCall = maxConcurrencyPerCall;
        MaxThreads = maxThreads ?? Environment.ProcessorCount;
        _calls = new RuntimeCalls(this);
        _team = new ThreadTeam(Math.Max(maxConcurrencyPerCall, MaxThreads), "Weir auto", keeps: false);
        _budget = new AutoBudget(MaxThreads, maxConcurrencyPerCall);
        _policies = new RuntimePolicies(_options);
        _pumps = new PumpRuntime(_calls, PoolExecutor.Instance, maxConcurrencyPerCall, eager: false, _options, _policies);
        _ended = call =>
        {
            _budget.Leave();
            _last = call.Pilot;
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
    public Task<ItemOutcome<TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options = _calls.Check(items, processor, options, typeof(TResult));
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        return IsTraced(items, options, cancellationToken)
            ? TracedItems<TItem, TResult>.CallAsync(
                items,
                processor,
                Name,
                MaxConcurrencyPerCall,
                options,
                traced => StartMany(traced.Items, NumberedItem<TItem>.KeysOf(keys), traced.InvokeAsync, options, out _, cancellationToken),
                static outcomes => outcomes)
            : StartMany(items, keys, processor, options, out _, cancellationToken);
    }

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
    public Task<AutoResult<TResult>> ProcessManyWithDecisionsAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        options = _calls.Check(items, processor, options, typeof(TResult));
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        return IsTraced(items, options, cancellationToken)
            ? TracedItems<TItem, TResult>.CallAsync(
                items,
                processor,
                Name,
                MaxConcurrencyPerCall,
                options,
                traced => WithDecisionsAsync(
                    StartMany(traced.Items, NumberedItem<TItem>.KeysOf(keys), traced.InvokeAsync, options, out AutoPilot? inner, cancellationToken), inner),
                static result => result.Outcomes)
            : WithDecisionsAsync(StartMany(items, keys, processor, options, out AutoPilot? pilot, cancellationToken), pilot);
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
        return IsTraced(items, options, CancellationToken.None)
            ? TracedItems<TItem, TResult>.StreamAsync(
                items,
                processor,
                Name,
                MaxConcurrencyPerCall,
                options,
                traced => Stream(traced.Items, NumberedItem<TItem>.KeysOf(keys), traced.InvokeAsync, orderedOutput, options, cancellationToken),
                CancellationToken.None)
            : Stream(items, keys, processor, orderedOutput, options, cancellationToken);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _calls.CloseAsync(_options.GracePeriod, _options.TimeProvider).ConfigureAwait(false);
        _team.Dispose();
    }

    private static async Task<AutoResult<TResult>> WithDecisionsAsync<TResult>(Task<ItemOutcome<TResult>[]> outcomes, AutoPilot? pilot) =>
        new(await outcomes.ConfigureAwait(false), pilot?.Decisions ?? []);

    /// <summary>Whether somebody listens to the items of a call that starts now. The engine tells them of those with policies.</summary>
    private bool IsTraced<TItem>(IEnumerable<TItem> items, ProcessManyOptions options, CancellationToken cancellationToken) =>
        RunObservation.WantsItems && !_policies.AreSet(options) && !cancellationToken.IsCancellationRequested
        && items is not IReadOnlyCollection<TItem> { Count: 0 };

    private Task<ItemOutcome<TResult>[]> StartMany<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions options,
        out AutoPilot? pilot,
        CancellationToken cancellationToken)
    {
        pilot = null;
        if (_policies.AreSet(options))
        {
            return _pumps.StartMany(items, keys, processor, options, cancellationToken);
        }

        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        Source<TItem> source = RuntimeSource.Of(items, keys, options, out int count);
        if (count == 0)
        {
            return Task.FromResult<ItemOutcome<TResult>[]>([]);
        }

        processor = LimitedProcessor<TItem, TResult>.Of(processor, _policies.Limit);
        OutcomeCompletion<TResult> completion = PumpRuntime.CompletionOf<TResult>(count, options, null, _options.TimeProvider);
        pilot = PilotOf(processor, count, options, keys is not null);
        const string Operation = nameof(ProcessManyAsync);
        AutoCall<TItem, TResult> call = count > 0
            ? new AutoArrayCall<TItem, TResult>(completion, _calls, Operation, options, pilot, processor, _profiles, _ended)
            : new AutoSinkCall<TItem, TResult, GrowingOutcomeSink<TResult>>(
                new GrowingOutcomeSink<TResult>(completion), _calls, Operation, options, pilot, processor, _profiles, _ended);
        Start(source, call, options, cancellationToken, default);
        return completion.Task;
    }

    private IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> Stream<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions options,
        CancellationToken cancellationToken)
    {
        if (_policies.AreSet(options))
        {
            return _pumps.Stream(items, keys, processor, orderedOutput, options, cancellationToken);
        }

        processor = LimitedProcessor<TItem, TResult>.Of(processor, _policies.Limit);
        return new PumpStream<(int Index, ItemOutcome<TResult> Outcome)>(
            MaxConcurrencyPerCall,
            StreamCapacity,
            orderedOutput,
            (output, enumeratorToken) =>
            {
                Source<TItem> source = RuntimeSource.Of(items, keys, options, out int count);
                output.Missing = (count, static index => (Indices.ToInt(index), default));
                return Start(
                    source,
                    new AutoSinkCall<TItem, TResult, OutcomeStreamSink<TResult>>(
                        new OutcomeStreamSink<TResult>(output),
                        _calls,
                        nameof(ProcessManyStreamAsync),
                        options,
                        PilotOf(processor, count, options, keys is not null),
                        processor,
                        _profiles,
                        _ended),
                    options,
                    cancellationToken,
                    enumeratorToken);
            },
            cancellationToken)
        {
            Unused = UnusedOfCall.IndexedOutcomes<TResult>(options, null, _options.TimeProvider),
        };
    }

    private AutoPilot PilotOf(Delegate processor, int count, ProcessManyOptions options, bool hasKeys)
    {
        // One item at a time if each has its own clock or lane, or may have to wait before it begins.
        bool oneByOne = hasKeys || options.PerItemTimeout is not null || (options.Control ?? _options.Control) is not null;
        AutoExecutor executor = new(_team, MaxThreads);
        return new AutoPilot(executor, _budget, count < 0 ? int.MaxValue : count, _profiles.Find(processor), oneByOne);
    }

    private Pump Start<TItem, TResult>(
        Source<TItem> items,
        AutoCall<TItem, TResult> call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken otherToken)
    {
        RangeSource<TItem, TResult> source = new(items, call);
        call.Source = source;
        call.Lanes = items as ILanes;
        PumpSettings settings = new()
        {
            Limit = call.Pilot.InFlight,
            ErrorMode = ErrorMode.BestEffort,
            PerItemTimeout = processOptions.PerItemTimeout,
            Guarded = true,
            TimeProvider = _options.TimeProvider,
            Executor = call.Pilot.Executor,
            OnLook = call.OnWatch,
            Operation = call.Operation,
            About = call,
            CountsPauses = RunObservation.IsMetered,
        };
        if ((processOptions.Control ?? _options.Control) is { } control)
        {
            settings = new ControlledSettings(settings, control) { MovesLimit = true, CountItems = call.Sample };
        }

        Pump pump = PlainRun.MakeOfRanges(source, call, settings);
        _budget.Enter();
        try
        {
            call.Begin(pump, processOptions.BatchTimeout, _options.TimeProvider);
        }
        catch (ObjectDisposedException)
        {
            _budget.Leave();
            throw;
        }

        pump.Start(1, cancellationToken, otherToken);
        return pump;
    }
}
