using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace Weir.Resilience;

/// <summary>Applies all policies to a call, in one fixed order.</summary>
/// <remarks>
/// <para>
/// The order, outermost first: fallback, total timeout, retry, circuit breaker, concurrency limit, rate limit, attempt timeout, the call. So each attempt asks
/// the circuit breaker, and takes a permit of the concurrency limit and tokens from the rate limit. An open circuit ends a running retry (unless
/// <see cref="RetryOptions.IsTransient"/> says otherwise). The fallback sees an open circuit and both timeouts, and a failure that it replaces still counts for
/// the circuit breaker.
/// </para>
/// <para>
/// One instance serves any number of calls and threads at once. A call that succeeds without suspending allocates nothing. Build it once and keep it.
/// </para>
/// <para>
/// Cancellation by the caller always ends as an <see cref="OperationCanceledException"/> with the caller's token. It is not retried, gets no fallback, and is
/// not a failure for the circuit breaker. A failure that had already occurred when the caller cancelled remains what it is.
/// </para>
/// </remarks>
/// <typeparam name="TResult">The type of the calls' results.</typeparam>
public sealed class PolicyChain<TResult>
{
    private readonly FallbackPolicy<TResult>? _fallback;
    private readonly TimeoutPolicy<TResult>? _total;
    private readonly RetryPolicy? _retry;
    private readonly RetryBudget? _budget;
    private readonly Func<AttemptOutcome<TResult>, bool>? _shouldRetry;
    private readonly Func<AttemptOutcome<TResult>, TimeSpan?>? _delayHint;
    private readonly AttemptGuard _guard;
    private readonly TimeoutPolicy<TResult>? _limit;
    private readonly Clock _clock;
    private readonly KeyValuePair<string, object?>? _name;

    /// <summary>Creates a chain from the options.</summary>
    /// <param name="options">The policies.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public PolicyChain(PolicyChainOptions<TResult> options)
        : this((PolicyChainOptions)options)
    {
        _fallback = options.Fallback is { } fallback ? new FallbackPolicy<TResult>(fallback) : null;
        _shouldRetry = options.ShouldRetry;
        _delayHint = options.DelayHint;
    }

    /// <summary>The policies that need no result.</summary>
    internal PolicyChain(PolicyChainOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        options = options.WithOwnPolicies();
        _total = TimeoutOf(options.TotalTimeout, options.TimeProvider);
        _retry = options.Retry is { } retry ? RetryPolicy.Of(retry) : null;
        _budget = _retry?.Budget;
        _options = options;
        _hasKeys = options.HasKeys;
        _guard = GuardOf(options, default);
        _limit = TimeoutOf(options.AttemptTimeout, options.TimeProvider, _retry is null ? 1 : 0);
        _clock = new Clock(options.TimeProvider);
        _name = PolicyNames.TagOf(options.Name);
        PolicyListeners.Look();
    }

    /// <summary>Makes a call with all policies.</summary>
    /// <param name="call">
    /// The call, made once per attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.
    /// </param>
    /// <param name="cancellationToken">The caller's token.</param>
    /// <returns>The result of the first attempt that succeeds, or of the fallback. Await it only once, like any value task.</returns>
    /// <exception cref="Exception">The exception of the last attempt.</exception>
    /// <exception cref="CircuitBreakerOpenException">The circuit rejected the last attempt.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException">The concurrency limit rejected the last attempt, because too many calls already wait.</exception>
    /// <exception cref="RateLimitRejectedException">
    /// The rate limiter rejected the last attempt, or its tokens would come only after <see cref="PolicyChainOptions.TotalTimeout"/>.
    /// </exception>
    /// <exception cref="OperationCanceledException">
    /// A time limit passed, and the inner exception is a <see cref="TimeoutException"/>; or the caller cancelled, and the exception carries the caller's token.
    /// </exception>
    public ValueTask<TResult> ExecuteAsync(Func<CancellationToken, ValueTask<TResult>> call, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        return ExecuteAsync(static (call, token) => call(token), call, cancellationToken);
    }

    /// <summary>Makes a call with all policies. The call gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <inheritdoc cref="ExecuteAsync(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)"/>
    /// <param name="call">
    /// The call, made once per attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.
    /// </param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">The caller's token.</param>
    public ValueTask<TResult> ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<TResult>(cancellationToken);
        }

        if (_hasKeys)
        {
            return ExecuteByKeyAsync(call, state, cancellationToken);
        }

        return PolicyListeners.WantsCalls ? ExecuteCountedAsync(call, state, cancellationToken) : ExecuteUncountedAsync(call, state, cancellationToken);
    }

    // Separate, so that a call that nobody counts does not pay for it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> ExecuteCountedAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken) =>
        CountedCall.EndAsync(ExecuteUncountedAsync(call, state, cancellationToken), _name, cancellationToken);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ValueTask<TResult> ExecuteUncountedAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken)
    {
        ValueTask<TResult> pending = _total is null
            ? RunAsync(call, state, default, cancellationToken, cancellationToken)
            : _total.ExecuteAsync(new TotalCall<TState>(this, call, state, cancellationToken), CallShape.GivenOf(state), cancellationToken);
        return _fallback is null || pending.IsCompletedSuccessfully ? pending : FallBackAsync(pending, cancellationToken);
    }

    private static TimeoutPolicy<TResult>? TimeoutOf(TimeSpan? limit, TimeProvider time, int? attempt = null) =>
        limit is { } timeout ? new TimeoutPolicy<TResult>(new TimeoutOptions { Timeout = timeout, TimeProvider = time }) { Attempt = attempt } : null;

    /// <summary>All attempts of a call, in the total time limit.</summary>
    private readonly struct TotalCall<TState>(
        PolicyChain<TResult> chain, Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken callerToken)
        : ITimedCall<TResult>
    {
        public ValueTask<TResult> Make(Deadline deadline, CancellationToken token) => chain.RunAsync(call, state, deadline, token, callerToken);
    }

    /// <summary>The first attempt, as far as it gets without waiting.</summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly",
        Justification = "Consumed once: here when it has completed, else where the attempt goes on.")]
    private ValueTask<TResult> RunAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, Deadline deadline, CancellationToken token, CancellationToken callerToken)
    {
        _budget?.Deposit();
        AttemptPhase next = _guard.TryEnter(out CircuitTicket ticket);
        IDisposable? lease = null;
        if (next != AttemptPhase.Call)
        {
            if (next != AttemptPhase.RateLimit)
            {
                return BeginAsync(call, state, deadline, token, callerToken);
            }

            ValueTask<IDisposable?> entry = _guard.EnterRateLimit(token, deadline);
            if (!entry.IsCompletedSuccessfully)
            {
                return AfterRateLimitAsync(ticket, entry, call, state, deadline, token, callerToken);
            }

            lease = entry.Result;
        }

        long begun = _guard.BeginCall();
        ValueTask<TResult> pending = CallFirst(call, state, ticket, token, out bool succeeded);
        if (!succeeded)
        {
            return _guard.Breaker is null && _guard.Permits is null && _retry is null && lease is null
                ? pending
                : AfterCallAsync(ticket, begun, lease, pending, call, state, deadline, token, callerToken);
        }

        _guard.EndCall(begun);
        _guard.Permits?.Leave();
        lease?.Dispose();
        return pending;
    }

    // Separate methods, because otherwise the entry to the fast path would have to clear the large struct too.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> BeginAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, Deadline deadline, CancellationToken token, CancellationToken callerToken) =>
        ContinueAsync(default, default, call, state, deadline, token, callerToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> AfterRateLimitAsync<TState>(
        CircuitTicket ticket,
        ValueTask<IDisposable?> entry,
        Func<TState, CancellationToken, ValueTask<TResult>> call,
        TState state,
        Deadline deadline,
        CancellationToken token,
        CancellationToken callerToken) =>
        ContinueAsync(new Attempt
        {
            Phase = AttemptPhase.RateLimit,
            Ticket = ticket,
            Permit = _guard.Permits,
            Entry = entry,
        }, default, call, state, deadline, token, callerToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> AfterCallAsync<TState>(
        CircuitTicket ticket,
        long begun,
        IDisposable? lease,
        ValueTask<TResult> pending,
        Func<TState, CancellationToken, ValueTask<TResult>> call,
        TState state,
        Deadline deadline,
        CancellationToken token,
        CancellationToken callerToken) =>
        ContinueAsync(new Attempt
        {
            Phase = AttemptPhase.Call,
            Ticket = ticket,
            Permit = _guard.Permits,
            Begun = begun,
            Lease = lease,
        }, pending, call, state, deadline, token, callerToken);

    /// <summary>The remaining path: one state machine for all policies, attempts and waits.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Awaited once, on the next line.")]
    private async ValueTask<TResult> ContinueAsync<TState>(
        Attempt attempt,
        ValueTask<TResult> pending,
        Func<TState, CancellationToken, ValueTask<TResult>> call,
        TState state,
        Deadline deadline,
        CancellationToken token,
        CancellationToken callerToken)
    {
        TimeSpan delay = TimeSpan.Zero;
        for (int number = 1; ; number++)
        {
            ExceptionDispatchInfo? failure = null;
            TResult? result = default;
            try
            {
                if (attempt.Phase != AttemptPhase.Call)
                {
                    while (attempt.Phase != AttemptPhase.Call)
                    {
                        if (attempt.Phase != AttemptPhase.RateLimit)
                        {
                            attempt = await _guard.EnterAsync(token, deadline).ConfigureAwait(false);
                        }

                        bool waits = !attempt.Entry.IsCompleted;
                        attempt.Lease = await attempt.Entry.ConfigureAwait(false);
                        _guard.PassRateLimit(ref attempt, waits, token);
                    }

                    attempt.Begun = _guard.BeginCall();
                    pending = Call(call, state, token);
                }

                if (_total is not null && attempt.Permit is { } permit && !pending.IsCompleted)
                {
                    attempt.Permit = new TimedPermit(permit, token, callerToken);
                }

                result = await pending.ConfigureAwait(false);
                _guard.EndCall(attempt.Begun);
                attempt.Begun = 0;
                _guard.Succeeded(attempt.Ticket);
                if (_shouldRetry is null)
                {
                    return result;
                }
            }
            catch (Exception exception)
            {
                AttemptTimeoutException.Number(exception, number);
                if (attempt.Phase == AttemptPhase.Call)
                {
                    _guard.EndCall(attempt.Begun, exception, token, callerToken);
                    _guard.Failed(attempt.Ticket, exception, token, callerToken);
                }

                failure = ExceptionDispatchInfo.Capture(exception);
            }
            finally
            {
                _guard.End(ref attempt);
            }

            bool refused = false;
            try
            {
                if (DelayAfter(number, result, failure?.SourceException, delay, deadline, token, ref refused) is not { } next)
                {
                    if (failure is null)
                    {
                        return result!;
                    }

                    ThrowForCaller(failure, callerToken);
                    continue;
                }

                delay = next;
                if (PolicyListeners.WantsCalls)
                {
                    PolicyMeter.Retried(_name, failure?.SourceException);
                }

                if (_retry!.OnRetryAsync is { } onRetry)
                {
                    await onRetry(number, failure?.SourceException ?? new ResultRejectedException((object?)result)).ConfigureAwait(false);
                }
            }
            catch when (refused)
            {
                await DiscardedResult.DropAsync(result).ConfigureAwait(false);
                throw;
            }

            if (refused)
            {
                await DiscardedResult.DisposeAsync(result).ConfigureAwait(false);
            }

            await TimerDelay.WaitUntilAsync(_clock.Now + _clock.ToTicks(delay), _clock, token).ConfigureAwait(false);
            attempt = default;
        }
    }

    /// <summary>The delay before another attempt; null if there is none.</summary>
    /// <param name="number">The number of the attempt.</param>
    /// <param name="result">Its result, if it has one.</param>
    /// <param name="failure">Its exception, or null.</param>
    /// <param name="previous">The delay before it.</param>
    /// <param name="deadline">When the time of the call is up.</param>
    /// <param name="token">The token of the attempts.</param>
    /// <param name="refused">Set when the result is refused, or the rule or the function for the delay throws.</param>
    private TimeSpan? DelayAfter(
        int number, TResult? result, Exception? failure, TimeSpan previous, Deadline deadline, CancellationToken token, ref bool refused)
    {
        if (_shouldRetry is null)
        {
            return _retry?.GetDelay(number, failure!, previous, deadline.Left, _budget, token);
        }

        AttemptOutcome<TResult> outcome = new(result, failure, number);
        if (!_retry!.MayRetry(number, token))
        {
            return null;
        }

        // An exception from the rule or the hint takes the place of the result.
        refused = failure is null;
        if (!_shouldRetry(outcome))
        {
            refused = false;
            return null;
        }

        TimeSpan? hint = _delayHint is not null ? _delayHint(outcome) : failure is not null ? _retry.HintOf(failure) : null;
        if (failure is null)
        {
            _guard.Breaker?.CoolDownFor(hint);
        }

        return _retry.GetDelay(number, previous, hint, deadline.Left, _budget, token);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> FallBackAsync(ValueTask<TResult> pending, CancellationToken callerToken)
    {
        Exception failure;
        try
        {
            return await pending.ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            if (!_fallback!.ShouldHandle(exception, callerToken))
            {
                throw;
            }

            failure = exception;
        }

        TResult result = await _fallback.GetResultAsync(failure, callerToken).ConfigureAwait(false);
        if (PolicyListeners.WantsCalls)
        {
            PolicyMeter.FellBack(_name, failure);
        }

        return result;
    }

    private static void ThrowForCaller(ExceptionDispatchInfo failure, CancellationToken callerToken)
    {
        if (callerToken.IsCancellationRequested
            && failure.SourceException is OperationCanceledException cancelled
            && cancelled.CancellationToken != callerToken
            && !TimeoutFailure.Is(cancelled))
        {
            throw new OperationCanceledException(cancelled.Message, cancelled, callerToken);
        }

        failure.Throw();
    }

    // The calls themselves, which are the user's code.

    /// <summary>The call of the first attempt. One that has succeeded has been reported to the breaker, and its task can be given to the caller.</summary>
    /// <remarks>
    /// A task that somebody has awaited before throws when it is asked, and so does the clock of a breaker. Here, such an exception is the attempt's. Anywhere
    /// else, the attempt would never give back its permit.
    /// </remarks>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once: here when it has succeeded, else by the caller.")]
    private ValueTask<TResult> CallFirst<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CircuitTicket ticket, CancellationToken token, out bool succeeded)
    {
        try
        {
            ValueTask<TResult> pending = _limit is null ? call(state, token) : _limit.ExecuteAsync(call, state, token);
            succeeded = pending.IsCompletedSuccessfully && _shouldRetry is null;
            if (!succeeded)
            {
                return pending;
            }

            TResult result = pending.Result;
            _guard.Succeeded(ticket);
            return new ValueTask<TResult>(result);
        }
        catch (Exception exception)
        {
            succeeded = false;
            return ValueTask.FromException<TResult>(exception);
        }
    }

    // A call that throws before it returns a task is treated like one whose task failed.
    private ValueTask<TResult> Call<TState>(Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken token)
    {
        try
        {
            return _limit is null ? call(state, token) : _limit.ExecuteAsync(call, state, token);
        }
        catch (Exception exception)
        {
            return ValueTask.FromException<TResult>(exception);
        }
    }

    // Policies by key: each key has a chain that is this one with the key's policies, made when they are first used.

    private readonly PolicyChainOptions _options;
    private readonly bool _hasKeys;
    private readonly Func<KeyedUse>? _use;
    private PolicyChain<TResult>? _ofKey;

    private PolicyChain(PolicyChain<TResult> other, bool retries = true)
    {
        _options = other._options;
        _fallback = other._fallback;
        _total = other._total;
        _retry = retries ? other._retry : null;
        _budget = other._budget;
        _shouldRetry = retries ? other._shouldRetry : null;
        _delayHint = other._delayHint;
        _guard = other._guard;
        _limit = other._limit;
        _clock = other._clock;
        _name = other._name;
    }

    internal PolicyChain(PolicyChain<TResult> other, Func<KeyedUse> use)
        : this(other)
    {
        _hasKeys = true;
        _use = use;
    }

    private PolicyChain(PolicyChain<TResult> other, bool hasKeys, Func<KeyedUse>? use)
        : this(other, retries: false)
    {
        _hasKeys = hasKeys;
        _use = use;
    }

    private PolicyChain(PolicyChain<TResult> other, in KeyedUse use)
        : this(other)
    {
        _guard = GuardOf(_options, use);
        _budget = use.Budget?.Policy ?? _budget;
    }

    /// <summary>A chain with these policies for the calls of an item, whose keys choose among the policies by key.</summary>
    /// <typeparam name="TItem">The type that the policies by key were made for, or one derived from it.</typeparam>
    /// <param name="item">What has the keys, such as a request or the address of a server.</param>
    /// <returns>
    /// A chain that serves any number of calls and threads. Make it for each call, or keep it for the calls of the same item, which then allocate nothing.
    /// </returns>
    /// <remarks>The functions that return a key run once per call. What they throw fails the call, and no policy sees it.</remarks>
    /// <exception cref="InvalidOperationException">The chain has no policy by key, or it is one for an item already.</exception>
    /// <exception cref="ArgumentException">The keys are those of another type of items.</exception>
    public PolicyChain<TResult> For<TItem>(TItem item) => new(this, UseOf(_options, item, _use is not null));

    /// <summary>The options, with the chain's own policies.</summary>
    internal PolicyChainOptions Options => _options;

    /// <summary>Whether a call has to say what has the keys: <see cref="For"/>.</summary>
    internal bool NeedsItem => _hasKeys && _use is null;

    internal bool HasRetries => _retry is not null;

    /// <summary>A chain with the same policies for calls that must not be repeated. They pay into the budget, as others do.</summary>
    internal PolicyChain<TResult> WithoutRetries() => new(this, _hasKeys, _use);

    /// <summary>Finds the policies of an item's keys.</summary>
    internal static Func<KeyedUse> UseOf<TItem>(PolicyChainOptions options, TItem item, bool isForItem)
    {
        if (isForItem || !options.HasKeys)
        {
            throw new InvalidOperationException(
                isForItem
                    ? "The chain is one for an item already."
                    : "The chain has no policy by key: set one in its options, such as CircuitBreaker = CircuitBreakers.ByKey(...).");
        }

        KeyedPolicies<TItem> policies = new(options.CircuitBreaker, options.ConcurrencyLimit, options.RateLimit, options.Retry);
        return () => policies.Use(item);
    }

    private static AttemptGuard GuardOf(PolicyChainOptions options, in KeyedUse use) => new(
        use.Breaker?.Policy ?? options.CircuitBreaker?.Instance as CircuitBreaker,
        PermitUser.Of(options.ConcurrencyLimit, use.Limit?.Policy, null),
        use.Rate?.Policy ?? use.OtherRate ?? options.RateLimit?.Instance as IRateLimit,
        options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen);

    private ValueTask<TResult> ExecuteByKeyAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken)
    {
        if (_use is null)
        {
            throw new InvalidOperationException("The chain has policies by key, so a call has to say what has the key: chain.For(item).ExecuteAsync(...).");
        }

        KeyedUse use;
        try
        {
            use = _use();
        }
        catch (Exception exception)
        {
            return ValueTask.FromException<TResult>(exception);
        }

        ValueTask<TResult> pending;
        try
        {
            pending = ChainOf(use).ExecuteAsync(call, state, cancellationToken);
            if (!pending.IsCompleted)
            {
                return ReleaseAsync(pending, use);
            }
        }
        catch
        {
            // A clock of the user's, for example. A key that stays in use is never forgotten.
            use.Release();
            throw;
        }

        use.Release();
        return pending;
    }

    // The key's policies are forgotten only while nobody uses them. Then there are new ones, and a new chain.
    private PolicyChain<TResult> ChainOf(in KeyedUse use)
    {
        PolicyChain<TResult>? chain = Volatile.Read(ref _ofKey);
        if (chain is null || !chain._guard.Has(use) || (use.Budget is not null && use.Budget.Policy != chain._budget))
        {
            chain = new PolicyChain<TResult>(this, use);
            Volatile.Write(ref _ofKey, chain);
        }

        return chain;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<TResult> ReleaseAsync(ValueTask<TResult> pending, KeyedUse use)
    {
        try
        {
            return await pending.ConfigureAwait(false);
        }
        finally
        {
            use.Release();
        }
    }
}

/// <summary>Tells listeners what becomes of a call through a chain.</summary>
internal static class CountedCall
{
    /// <summary>Counts the end of a call.</summary>
    /// <param name="pending">The call.</param>
    /// <param name="name">The name of its chain.</param>
    /// <param name="callerToken">The caller's token.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<TResult> EndAsync<TResult>(ValueTask<TResult> pending, KeyValuePair<string, object?>? name, CancellationToken callerToken)
    {
        try
        {
            TResult result = await pending.ConfigureAwait(false);
            PolicyMeter.Ended(name, "succeeded", null);
            return result;
        }
        catch (OperationCanceledException) when (callerToken.IsCancellationRequested)
        {
            PolicyMeter.Ended(name, "cancelled", null);
            throw;
        }
        catch (Exception failure)
        {
            PolicyMeter.Ended(name, TimeoutFailure.Is(failure) ? "timed_out" : "failed", failure);
            throw;
        }
    }
}

/// <summary>Applies all policies to calls without a result, or with results of any type, in the order of <see cref="PolicyChain{TResult}"/>.</summary>
/// <remarks>
/// One instance serves any number of calls and threads at once. Build it once and keep it. A call that succeeds without suspending allocates nothing. The rules
/// for cancellation are those of <see cref="PolicyChain{TResult}"/>, which has a fallback and retries for results as well.
/// </remarks>
public sealed class PolicyChain : ICallPolicy
{
    private readonly PolicyChainOptions _options;
    private readonly PolicyChain<NoResult> _withoutResult;
    private readonly Func<KeyedUse>? _use;

    // By the type of the result.
    private readonly ConcurrentDictionary<Type, object> _chains = new();

    /// <summary>Creates a chain from the options.</summary>
    /// <param name="options">The policies.</param>
    /// <exception cref="ArgumentException"><paramref name="options"/> are those of a chain with one type of results.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public PolicyChain(PolicyChainOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        if (options.GetType() != typeof(PolicyChainOptions))
        {
            throw new ArgumentException("Options with a type of results are for PolicyChain<TResult>: a chain of any result has no fallback.", nameof(options));
        }

        _withoutResult = new PolicyChain<NoResult>(options);

        // With the policies that it has made: those of the chain, whatever the type of the results.
        _options = _withoutResult.Options;
    }

    private PolicyChain(PolicyChain other, Func<KeyedUse> use)
    {
        _options = other._options;
        _use = use;
        _withoutResult = new PolicyChain<NoResult>(other._withoutResult, use);
    }

    /// <inheritdoc cref="PolicyChain{TResult}.For{TItem}(TItem)"/>
    public PolicyChain For<TItem>(TItem item) => new(this, PolicyChain<NoResult>.UseOf(_options, item, _use is not null));

    /// <summary>Makes a call without a result, with all policies.</summary>
    /// <param name="call">
    /// The call, made once per attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.
    /// </param>
    /// <param name="cancellationToken">The caller's token.</param>
    /// <returns>A task that completes when an attempt has succeeded. Await it only once, like any value task.</returns>
    /// <inheritdoc cref="PolicyChain{TResult}.ExecuteAsync(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)" path="/exception"/>
    public ValueTask ExecuteAsync(Func<CancellationToken, ValueTask> call, CancellationToken cancellationToken = default) =>
        CallShape.Ended(_withoutResult.ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken));

    /// <summary>Makes a call without a result, with all policies. The call gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <inheritdoc cref="ExecuteAsync(Func{CancellationToken, ValueTask}, CancellationToken)"/>
    /// <param name="call">
    /// The call, made once per attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.
    /// </param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">The caller's token.</param>
    public ValueTask ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Ended(_withoutResult.ExecuteAsync(
            static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken));

    /// <summary>Makes a call with all policies.</summary>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <inheritdoc cref="PolicyChain{TResult}.ExecuteAsync(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)"/>
    public ValueTask<TResult> ExecuteAsync<TResult>(Func<CancellationToken, ValueTask<TResult>> call, CancellationToken cancellationToken = default) =>
        Of<TResult>().ExecuteAsync(call, cancellationToken);

    /// <summary>Makes a call with all policies. The call gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <inheritdoc cref="PolicyChain{TResult}.ExecuteAsync{TState}(Func{TState, CancellationToken, ValueTask{TResult}}, TState, CancellationToken)"/>
    public ValueTask<TResult> ExecuteAsync<TState, TResult>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default) =>
        Of<TResult>().ExecuteAsync(call, state, cancellationToken);

    /// <summary>The chain of calls with one type of results.</summary>
    internal PolicyChain<TResult> Of<TResult>() =>
        typeof(TResult) == typeof(NoResult) ? (PolicyChain<TResult>)(object)_withoutResult
        : (PolicyChain<TResult>)_chains.GetOrAdd(typeof(TResult), static (_, chain) => chain.Make<TResult>(), this);

    private PolicyChain<TResult> Make<TResult>()
    {
        PolicyChain<TResult> chain = new(_options);
        return _use is null ? chain : new PolicyChain<TResult>(chain, _use);
    }
}

/// <summary>The other shapes of calls, for chains whose calls all have one type of result. As <see cref="CallPolicyExtensions"/>.</summary>
public static class PolicyChainExtensions
{
    /// <summary>Makes a call that returns a <see cref="Task{TResult}"/>.</summary>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="chain">The policies.</param>
    /// <param name="call">The call, made once per attempt.</param>
    /// <param name="cancellationToken">The caller's token. It ends the waits, and is passed to the call.</param>
    /// <returns>The result of the first attempt that succeeds, or of the fallback. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException">
    /// The caller cancelled. Or a time limit of a chain passed, and the inner exception is a <see cref="TimeoutException"/>.
    /// </exception>
    public static ValueTask<TResult> ExecuteAsync<TResult>(
        this PolicyChain<TResult> chain, Func<CancellationToken, Task<TResult>> call, CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken);

    /// <summary>Makes a call that returns its result without a task.</summary>
    /// <inheritdoc cref="ExecuteAsync{TResult}(PolicyChain{TResult}, Func{CancellationToken, Task{TResult}}, CancellationToken)"/>
    public static ValueTask<TResult> ExecuteAsync<TResult>(
        this PolicyChain<TResult> chain, Func<CancellationToken, TResult> call, CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(static (call, token) => new ValueTask<TResult>(call(token)), CallShape.Of(call), cancellationToken);

    /// <summary>Makes a call that gets a state and returns a <see cref="Task{TResult}"/>.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <inheritdoc cref="ExecuteAsync{TResult}(PolicyChain{TResult}, Func{CancellationToken, Task{TResult}}, CancellationToken)"/>
    /// <param name="chain">The policies.</param>
    /// <param name="call">The call, made once per attempt.</param>
    /// <param name="state">The state passed to the call, so that it needs no closure.</param>
    /// <param name="cancellationToken">The caller's token. It ends the waits, and is passed to the call.</param>
    public static ValueTask<TResult> ExecuteAsync<TState, TResult>(
        this PolicyChain<TResult> chain,
        Func<TState, CancellationToken, Task<TResult>> call,
        TState state,
        CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken);

    /// <summary>Makes a call that gets a state and returns its result without a task.</summary>
    /// <inheritdoc cref="ExecuteAsync{TState, TResult}(PolicyChain{TResult}, Func{TState, CancellationToken, Task{TResult}}, TState, CancellationToken)"/>
    public static ValueTask<TResult> ExecuteAsync<TState, TResult>(
        this PolicyChain<TResult> chain, Func<TState, CancellationToken, TResult> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Of(chain).ExecuteAsync(
            static (s, token) => new ValueTask<TResult>(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken);
}
