using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Threads;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// What wraps one attempt of a run: the item's hooks, the circuit breaker, the concurrency limit, the rate limit, the measurements for the adaptive limit, and
/// the attempt's time limit. <see cref="RunRecovery{TResult}"/> and the engine decide the rest (retry, fallback, the item's time limit) after an attempt has
/// failed.
/// </summary>
internal sealed class CallPolicies
{
    // Immutable.
    private readonly int _maxRetries;
    private readonly bool _hasBreaker;
    private readonly CircuitBreakers? _breakersByKey;

    // Set before the run starts.
    private Pump? _run;
    private object? _attemptLimit;
    private ICallsWithLimits? _attempts;

    // Atomic: exceptions that the user's hooks threw. Weak, so that it keeps no exception alive; created by whoever is first when a hook throws.
    private ConditionalWeakTable<Exception, object?>? _hookFailures;

    // Atomic: how many items wait at the rate limit.
    private int _atRateLimit;

    private CallPolicies(ParallelRunOptions options, AdaptiveController? adaptive, bool guarded, ItemRecords? records)
    {
        Records = records ?? (options.NeedsRecords ? new ItemRecords(options.TimeProvider) : null);
        RetryRule = options.MaxRetries > 0 ? options.ShouldRetry : null;
        _maxRetries = options.MaxRetries;
        Budget = BudgetOf(options);
        Starting = options.Hooks?.OnStartItemAsync;
        Completed = options.Hooks?.OnCompleteItemAsync;
        Adaptive = adaptive;
        CircuitBreaker? breaker = PolicySettings.BreakerOf(options.CircuitBreaker, options.TimeProvider, isCounted: false);
        IRateLimit? rateLimit = PolicySettings.RateLimitOf(options.RateLimit, options.TimeProvider, isCounted: false);
        // Permits that the run's workers cannot use would lie idle.
        PermitUser? permits = PermitUser.Of(options.ConcurrencyLimit, null, () => RunLimit);
        bool hasPermits = options.ConcurrencyLimit is not null;
        Permits = hasPermits || options.RatesByKey is not null ? new RunPermits(guarded && hasPermits) : null;
        Guard = new AttemptGuard(breaker, permits, rateLimit, waitsForCircuit: false);
        RateLimit = rateLimit;
        _hasBreaker = options.CircuitBreaker is not null;
        _breakersByKey = options.BreakersByKey;
        HasHooks = options.HasItemHooks;
        HoldsNothing = Records is null && Guard.HasNoLeases && !options.HasKeys && !HasHooks;
        IsSimple = HoldsNothing && Adaptive is null && options.AttemptTimeout is null && Budget is null;
        HasOnlyHooks = HasHooks && Records is null && Guard.IsEmpty && !options.HasKeys && Adaptive is null && options.AttemptTimeout is null;
    }

    /// <summary>The token of the run. A cancellation that comes from it says nothing about the called service.</summary>
    public CancellationToken RunToken { get; private set; }

    public bool HasHooks { get; }

    /// <summary>What the run remembers of its items while they are under way; null if nothing needs that.</summary>
    public ItemRecords? Records { get; }

    /// <summary>What decides about results; null if every result is the item's.</summary>
    public RetryRule? RetryRule { get; }

    /// <summary>What the items pay for their retries with; null if retries are not bounded.</summary>
    public RetryBudget? Budget { get; }

    /// <summary>The hooks that get items, once the run is made; null if there are none.</summary>
    public HookCalls? ItemHooks { get; set; }

    /// <summary>Whether there are only hooks, and policies that act after a failure.</summary>
    public bool HasOnlyHooks { get; }

    /// <summary>Whether an attempt that passes without waiting holds nothing until its call has ended, and there are neither hooks nor records.</summary>
    public bool HoldsNothing { get; }

    /// <summary>Whether only a circuit breaker and our own rate limit wrap an attempt.</summary>
    public bool IsSimple { get; }

    public Func<int, ValueTask>? Starting { get; }

    public Func<int, ValueTask>? Completed { get; }

    /// <summary>
    /// The way past the circuit breaker and both limits. An item that meets an open circuit is refused, and waits in the engine if it may; so does one that
    /// needs a permit of the concurrency limit, or the tokens of its key.
    /// </summary>
    public AttemptGuard Guard { get; }

    /// <summary>
    /// The permits of the concurrency limit that the run's items hold and wait for, and what waits at rate limits by key; null if there are no such limits.
    /// </summary>
    public RunPermits? Permits { get; }

    public IRateLimit? RateLimit { get; }

    public AdaptiveController? Adaptive { get; }

    /// <summary>Whether the run has ended, and not only stopped.</summary>
    public bool HasRunEnded => _run!.HasEnded;

    /// <summary>Whether items may meet an open circuit.</summary>
    public bool HasBreaker => _hasBreaker;

    /// <summary>How many items the run may have in flight now.</summary>
    public int RunLimit => _run!.Limit;

    /// <summary>
    /// Whether an item may make no more calls, because its run has stopped or it was given up. Whoever gives up an item cancels its token before anybody can
    /// learn of the end.
    /// </summary>
    public bool Ends(CancellationToken itemToken) => itemToken.IsCancellationRequested || _run!.IsOver;

    /// <summary>Whether an item whose call has returned was given up meanwhile: it has its outcome, and no hook is called for it.</summary>
    public bool IsGivenUp(long index, CancellationToken itemToken) => itemToken.IsCancellationRequested && _run!.HasGivenUp(index);

    /// <summary>Whether it is one of the run's own circuits, by key or not.</summary>
    public bool IsOwn(CircuitBreaker breaker) => breaker == Guard.Breaker || (_breakersByKey is not null && breaker.Group == _breakersByKey.Group);

    /// <summary>Whether the options have policies that wrap an attempt.</summary>
    public static bool AreSet(ParallelRunOptions options) =>
        options.CircuitBreaker is not null || options.RateLimit is not null || options.ConcurrencyLimit is not null || options.HasItemHooks
        || options.NeedsRecords || BudgetOf(options) is not null || options.HasBudgetByKey;

    /// <summary>The policies of the options, or null if none wraps an attempt.</summary>
    /// <param name="options">The options.</param>
    /// <param name="adaptive">What moves the run's limit, or null.</param>
    /// <param name="guarded">Whether the run's items can be given up while they run.</param>
    /// <param name="records">The records of the run's items, if its sink uses them too.</param>
    public static CallPolicies? Of(ParallelRunOptions options, AdaptiveController? adaptive, bool guarded, ItemRecords? records) =>
        AreSet(options) ? new CallPolicies(options, adaptive, guarded, records) : null;

    private static RetryBudget? BudgetOf(ParallelRunOptions options) => options.MaxRetries > 0 ? options.Retry!.Budget as RetryBudget : null;

    /// <summary>The run has been made, and is about to start.</summary>
    public void Attach(Pump run)
    {
        _run = run;
        RunToken = run.Token;
        if (Permits is { } permits)
        {
            // A run that has stopped may have to wait for its calls for long. Meanwhile others use the permits that it will not use.
            RunToken.UnsafeRegister(
                static permits => Unattended.Run((RunPermits)permits!, static permits => permits.Close(), static (permits, _) => permits.Close()), permits);
        }
    }

    /// <summary>An item was given up while its call was under way.</summary>
    public void GivenUp<TItem>(long index, TItem? item)
    {
        Permits?.GivenUp(index, _attempts);
        Records?.Begin(index, item!);
    }

    /// <summary>An item waits at the rate limit.</summary>
    /// <returns>Since when, for <see cref="RateWaitEnds"/>.</returns>
    public long RateWaitBegins()
    {
        long since = _run!.Time.GetTimestamp();
        _run.WaitBegins(WaitKind.RateLimit, since);
        Interlocked.Increment(ref _atRateLimit);
        return since;
    }

    /// <summary>An item waits at the rate limit no longer.</summary>
    public void RateWaitEnds(long since)
    {
        Interlocked.Decrement(ref _atRateLimit);
        _run!.WaitEnds(WaitKind.RateLimit, since, since);
    }

    /// <summary>Adds the items that wait at the rate limit, and the states of the circuit breakers.</summary>
    public void AddTo(ref RunSample sample)
    {
        sample.AtRateLimit = Volatile.Read(ref _atRateLimit);
        int[] states = new int[3];
        if (Guard.Breaker is { } breaker)
        {
            states[(int)breaker.State]++;
        }

        _breakersByKey?.CountStates(states);
        sample.CircuitsClosed = states[(int)CircuitBreakerState.Closed];
        sample.CircuitsOpen = states[(int)CircuitBreakerState.Open];
        sample.CircuitsHalfOpen = states[(int)CircuitBreakerState.HalfOpen];
    }

    /// <summary>
    /// The limit of one attempt, inside the other policies: its time starts when the rate limit has admitted the attempt, and the circuit breaker learns of it.
    /// Null if there is none; a run without policies leaves the limit to the engine.
    /// </summary>
    public TimeoutPolicy<TResult>? AttemptTimeoutOf<TResult>(ParallelRunOptions options)
    {
        TimeoutPolicy<TResult>? attempts = options.AttemptTimeout is { } limit
            ? new TimeoutPolicy<TResult>(limit, WatchTime.For(options.TimeProvider), UrgentWork.Queue, options.MaxRetries > 0 ? 0 : 1)
            {
                LimitOf = _attemptLimit = new object(),
            }
            : null;
        _attempts = attempts;
        return attempts;
    }

    /// <summary>
    /// Whether a call ended because its attempt passed the limit of this run, and not one inside the call. What an open circuit refuses has the limit that
    /// opened it as its cause, and passed none itself.
    /// </summary>
    public bool HasTimedOut(Exception error) =>
        _attemptLimit is not null && error is AttemptCanceledException timeout && timeout.Reason.LimitOf == _attemptLimit;

    /// <summary>A call has returned its result.</summary>
    public void Succeeded(AttemptGuard guard, CircuitTicket ticket, long started, CancellationToken cancellationToken)
    {
        Adaptive?.Ended(started, succeeded: true, cancellationToken);
        guard.Succeeded(ticket);
    }

    /// <summary>A call has failed. An exception from a callback in the circuit breaker's options replaces the failure.</summary>
    public void Failed(AttemptGuard guard, CircuitTicket ticket, Exception error, long started, CancellationToken cancellationToken)
    {
        if (error is NotBegunException)
        {
            // Nothing was called, so nothing can be said about it.
            guard.Ignored(ticket);
            return;
        }

        Adaptive?.Ended(started, succeeded: false, cancellationToken);
        guard.Failed(ticket, error, cancellationToken, RunToken);
    }

    /// <summary>Whether a result is followed by another attempt, which its budget has been asked for then. Its circuit learns how long the result asks to wait.</summary>
    public bool Refuses<TResult>(RetryRule<TResult> rule, ItemRecord record, TResult result, CircuitBreaker? breaker)
    {
        if (record.Attempt > _maxRetries || RunToken.IsCancellationRequested)
        {
            return false;
        }

        try
        {
            AttemptOutcome<TResult> outcome = new(result, null, record.Attempt);
            if (!rule.ShouldRetry(record, outcome))
            {
                return false;
            }

            if (rule.HasDelayHint && breaker is { HasCoolDown: true })
            {
                breaker.CoolDownFor(rule.DelayHint(record, outcome));
            }

            return (record.Budget ?? Budget)?.TryWithdraw() != false;
        }
        catch (Exception e)
        {
            HookFailed(e);
            throw;
        }
    }

    /// <summary>Calls a hook. When it throws, the item fails, and its call, which may well have succeeded, is not repeated.</summary>
    public ValueTask CallHook(Func<int, ValueTask> hook, long index)
    {
        try
        {
            return hook(Indices.ToInt(index));
        }
        catch (Exception e)
        {
            HookFailed(e);
            throw;
        }
    }

    public bool IsHookFailure(Exception error) => Volatile.Read(ref _hookFailures)?.TryGetValue(error, out _) == true;

    /// <summary>Waits for a hook that was called. One whose task somebody has awaited before has failed, like one that throws.</summary>
    public async ValueTask HookEndedAsync(ValueTask hook)
    {
        try
        {
            await hook.ConfigureAwait(false);
        }
        catch (Exception e)
        {
            HookFailed(e);
            throw;
        }
    }

    /// <summary>Remembers the failure as one of a hook.</summary>
    public void HookFailed(Exception error)
    {
        ConditionalWeakTable<Exception, object?> failures = Volatile.Read(ref _hookFailures)
            ?? Interlocked.CompareExchange(ref _hookFailures, [], null)
            ?? _hookFailures;
        failures.AddOrUpdate(error, null);
    }
}

/// <summary>The hooks of a run that get items, for code that does not know their type.</summary>
internal abstract class HookCalls
{
    /// <summary>Whether failed items are reported.</summary>
    public abstract bool HasError { get; }

    public abstract ValueTask RetryAsync(ItemRecord record, long index, Exception error);

    public abstract ValueTask<bool> ErrorAsync(ItemRecord record, long index, Exception error);
}

/// <summary>Calls the hooks of a run that get items.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
internal sealed class HookCalls<TItem>(ItemHooks<TItem> hooks) : HookCalls
{
    public override bool HasError => hooks.OnErrorAsync is not null;

    /// <exception cref="ArgumentException">The hooks are those of items of another type.</exception>
    public static HookCalls<TItem>? Of(ParallelRunOptions options) => options.Hooks?.Items switch
    {
        null => null,
        ItemHooks<TItem> hooks => new HookCalls<TItem>(hooks),
        { } other => throw new ArgumentException(
            $"Hooks are those of items of type {other.ItemType.Name}, but the items here are of type {typeof(TItem).Name}.", nameof(options.Hooks)),
    };

    public ValueTask StartAsync(CallPolicies policies, ItemRecord record, TItem item, long index) =>
        hooks.OnStartItemAsync is { } hook ? CallAsync(policies, hook, new(item, index, record.Attempt, null)) : default;

    public ValueTask CompleteAsync(CallPolicies policies, ItemRecord record, TItem item, long index) =>
        hooks.OnCompleteItemAsync is { } hook ? CallAsync(policies, hook, new(item, index, record.Attempt, null)) : default;

    public override ValueTask RetryAsync(ItemRecord record, long index, Exception error) =>
        hooks.OnRetryAsync is { } hook ? hook(AttemptOf(record, index, error)) : default;

    public override ValueTask<bool> ErrorAsync(ItemRecord record, long index, Exception error) =>
        hooks.OnErrorAsync is { } hook ? hook(AttemptOf(record, index, error)) : new ValueTask<bool>(true);

    private static ItemAttempt<TItem> AttemptOf(ItemRecord record, long index, Exception error) =>
        new(((ItemRecord<TItem>)record).Item, index, record.Attempt, error);

    // An item whose hook throws fails, and its call, which may well have succeeded, is not repeated.
    private static async ValueTask CallAsync(CallPolicies policies, Func<ItemAttempt<TItem>, ValueTask> hook, ItemAttempt<TItem> attempt)
    {
        try
        {
            await hook(attempt).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            policies.HookFailed(e);
            throw;
        }
    }
}

/// <summary>The policies of a run that has a policy by key: those of an item's key, and the run's own for the rest.</summary>
internal sealed class KeyedGuards<TItem>
{
    private readonly KeyedPolicies<TItem> _byKey;
    private readonly AttemptGuard _own;
    private readonly IRateLimit? _rate;
    private readonly Func<int> _most;
    private readonly IConcurrencyLimitSetting? _limits;

    // The run as a user of each limit. Weak, so that the limits of keys that are forgotten go. A limit that outlives the run keeps its user for a while, so a
    // user must not lead back to the run: the limit would keep the run, and with it this table, for as long as it lives itself.
    private readonly ConditionalWeakTable<SharedConcurrencyLimit, PermitUser> _users = [];

    private KeyedGuards(ParallelRunOptions options, CallPolicies policies)
    {
        _byKey = PoliciesOf(options);
        _own = policies.Guard;
        _limits = options.ConcurrencyLimit;
        _rate = policies.RateLimit;
        WeakReference<CallPolicies> run = new(policies);
        _most = () => run.TryGetTarget(out CallPolicies? live) ? live.RunLimit : int.MaxValue;
    }

    /// <summary>The policies by key of the options, or null if there are none.</summary>
    public static KeyedGuards<TItem>? Of(ParallelRunOptions options, CallPolicies policies) =>
        options.HasKeys ? new KeyedGuards<TItem>(options, policies) : null;

    /// <exception cref="ArgumentException">The keys are those of items of another type.</exception>
    public static void Check(ParallelRunOptions options) => _ = PoliciesOf(options);

    /// <summary>The policies of one attempt, which uses those of its item's keys. Runs the user's functions, and throws what they throw.</summary>
    public AttemptGuard Of(TItem item)
    {
        KeyedUse use = _byKey.Use(item);
        PermitUser? permits = use.Limit is null ? _own.Permits : UserOf(use.Limit.Policy);
        IRateLimit? rate = use.Rate?.Policy ?? use.OtherRate ?? _rate;
        return new AttemptGuard(use.Breaker?.Policy ?? _own.Breaker, permits, rate, waitsForCircuit: false, waitsForTokens: use.Rate is null, use);
    }

    private PermitUser UserOf(SharedConcurrencyLimit limit) => _users.GetValue(limit, made => PermitUser.Of(_limits, made, _most)!);

    private static KeyedPolicies<TItem> PoliciesOf(ParallelRunOptions options) =>
        new(options.CircuitBreaker, options.ConcurrencyLimit, options.RateLimit, options.Retry);
}
