using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace Weir.Resilience;

/// <summary>All policies around one call, in one fixed order.</summary>
/// <remarks>
/// <para>
/// The order, outermost first: fallback, total timeout, retry, circuit breaker, rate limit, attempt timeout, the call. So each attempt
/// asks the breaker and pays the rate limit; an open circuit ends a running retry (unless <see cref="RetryOptions.IsTransient"/> says otherwise);
/// the fallback sees an open circuit and both timeouts, and what it hides still counts as a failure for the breaker.
/// </para>
/// <para>
/// One instance serves any number of calls and threads at once. A call that succeeds without suspending allocates nothing. Build it once and keep it.
/// </para>
/// <para>
/// The caller's cancellation always ends as an <see cref="OperationCanceledException"/> with the caller's token: it is not retried, gets no
/// fallback and is no failure for the breaker. A failure that was already there when the caller cancelled stays what it is.
/// </para>
/// </remarks>
/// <typeparam name="TResult">What the calls return.</typeparam>
public sealed class PolicyChain<TResult>
{
    private readonly FallbackPolicy<TResult>? _fallback;
    private readonly TimeoutPolicy<TResult>? _total;
    private readonly RetryPolicy? _retry;
    private readonly CircuitBreaker? _breaker;
    private readonly bool _waitsForCircuit;
    private readonly IRateGate? _gate;
    private readonly TimeoutPolicy<TResult>? _limit;
    private readonly Clock _clock;

    /// <summary>Makes a chain of the options.</summary>
    /// <param name="options">The policies.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of its range; the parameter is named after the property.</exception>
    public PolicyChain(PolicyChainOptions<TResult> options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        _fallback = options.Fallback is { } fallback ? new FallbackPolicy<TResult>(fallback) : null;
        _total = TimeoutOf(options.TotalTimeout, options.TimeProvider);
        _retry = options.Retry is { } retry ? new RetryPolicy(retry) : null;
        _breaker = options.CircuitBreaker;
        _waitsForCircuit = options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen;
        _gate = options.RateLimit;
        _limit = TimeoutOf(options.AttemptTimeout, options.TimeProvider);
        _clock = new Clock(options.TimeProvider);
    }

    /// <summary>Makes a call with all policies around it.</summary>
    /// <param name="call">The call, made once an attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.</param>
    /// <param name="cancellationToken">The caller's token.</param>
    /// <returns>The result of the first attempt that succeeds, or of the fallback. To be awaited once, as any value task.</returns>
    /// <exception cref="Exception">What the last attempt failed with.</exception>
    /// <exception cref="CircuitBreakerOpenException">The circuit did not let the last attempt in.</exception>
    /// <exception cref="RateLimitRejectedException">The rate limiter refused the last attempt.</exception>
    /// <exception cref="OperationCanceledException">
    /// A time limit was reached: the inner exception is a <see cref="TimeoutException"/>. Or the caller cancelled: it carries the caller's token.
    /// </exception>
    public ValueTask<TResult> ExecuteAsync(Func<CancellationToken, ValueTask<TResult>> call, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        return ExecuteAsync(static (call, token) => call(token), call, cancellationToken);
    }

    /// <summary>Makes a call with all policies around it, which gets a state instead of a closure.</summary>
    /// <typeparam name="TState">What the call gets.</typeparam>
    /// <inheritdoc cref="ExecuteAsync(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)"/>
    /// <param name="call">The call, made once an attempt. Its token is cancelled by the caller and at both time limits, and is valid until the attempt ends.</param>
    /// <param name="state">What the call gets.</param>
    /// <param name="cancellationToken">The caller's token.</param>
    public ValueTask<TResult> ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<TResult>(cancellationToken);
        }

        ValueTask<TResult> pending = _total is null
            ? RunAsync(call, state, cancellationToken, cancellationToken)
            : _total.ExecuteAsync(
                static (run, token) => run.Chain.RunAsync(run.Call, run.State, token, run.CallerToken),
                (Chain: this, Call: call, State: state, CallerToken: cancellationToken),
                cancellationToken);
        return _fallback is null || pending.IsCompletedSuccessfully ? pending : FallBackAsync(pending, cancellationToken);
    }

    private static TimeoutPolicy<TResult>? TimeoutOf(TimeSpan? limit, TimeProvider time) =>
        limit is { } timeout ? new TimeoutPolicy<TResult>(new TimeoutOptions { Timeout = timeout, TimeProvider = time }) : null;

    /// <summary>The first attempt, as far as it gets without waiting.</summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once: here when it has completed, else where the attempt goes on.")]
    private ValueTask<TResult> RunAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken token, CancellationToken callerToken)
    {
        CircuitTicket ticket = default;
        if (_breaker is not null && !_breaker.TryEnter(out ticket))
        {
            return BeginAsync(call, state, token, callerToken);
        }

        IDisposable? lease = null;
        if (_gate is not null)
        {
            ValueTask<IDisposable?> entry = EnterGate(token);
            if (!entry.IsCompletedSuccessfully)
            {
                return AfterGateAsync(ticket, entry, call, state, token, callerToken);
            }

            lease = entry.Result;
        }

        ValueTask<TResult> pending = Call(call, state, token);
        if (!pending.IsCompletedSuccessfully)
        {
            return _breaker is null && _retry is null && lease is null
                ? pending
                : AfterCallAsync(ticket, lease, pending, call, state, token, callerToken);
        }

        TResult result = pending.Result;
        _breaker?.Succeeded(ticket);
        lease?.Dispose();
        return new ValueTask<TResult>(result);
    }

    // Methods of their own, because the large struct would have to be cleared at the entry of the fast path too.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> BeginAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken token, CancellationToken callerToken) =>
        ContinueAsync(default, call, state, token, callerToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> AfterGateAsync<TState>(
        CircuitTicket ticket, ValueTask<IDisposable?> entry, Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken token, CancellationToken callerToken) =>
        ContinueAsync(new Attempt<TResult> { Phase = AttemptPhase.Gate, Ticket = ticket, Entry = entry }, call, state, token, callerToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> AfterCallAsync<TState>(
        CircuitTicket ticket, IDisposable? lease, ValueTask<TResult> pending, Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken token, CancellationToken callerToken) =>
        ContinueAsync(new Attempt<TResult> { Phase = AttemptPhase.Call, Ticket = ticket, Lease = lease, Call = pending }, call, state, token, callerToken);

    /// <summary>The rest: one state machine for all policies and attempts, whatever there is to wait for.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Awaited once, on the next line.")]
    private async ValueTask<TResult> ContinueAsync<TState>(
        Attempt<TResult> attempt, Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken token, CancellationToken callerToken)
    {
        TimeSpan delay = TimeSpan.Zero;
        for (int number = 1; ; number++)
        {
            ExceptionDispatchInfo failure;
            try
            {
                if (attempt.Phase != AttemptPhase.Call)
                {
                    attempt = await EnterAsync(attempt, token).ConfigureAwait(false);
                    attempt.Call = Call(call, state, token);
                }

                TResult result = await attempt.Call.ConfigureAwait(false);
                _breaker?.Succeeded(attempt.Ticket);
                return result;
            }
            catch (Exception exception)
            {
                if (attempt.Phase == AttemptPhase.Call)
                {
                    ReportFailure(attempt.Ticket, exception, token, callerToken);
                }

                failure = ExceptionDispatchInfo.Capture(exception);
            }
            finally
            {
                attempt.Lease?.Dispose();
            }

            if (_retry?.GetDelay(number, failure.SourceException, delay, token) is not { } next)
            {
                ThrowForCaller(failure, callerToken);
                continue;
            }

            delay = next;
            if (_retry.OnRetryAsync is { } onRetry)
            {
                await onRetry(number, failure.SourceException).ConfigureAwait(false);
            }

            await TimerDelay.WaitUntilAsync(_clock.Now + _clock.ToTicks(delay), _clock, token).ConfigureAwait(false);
            attempt = default;
        }
    }

    /// <summary>Gets an attempt past the breaker and the gate. What it holds is given back when that fails.</summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Awaited once, some lines below.")]
    private async ValueTask<Attempt<TResult>> EnterAsync(Attempt<TResult> attempt, CancellationToken token)
    {
        try
        {
            if (attempt.Phase == AttemptPhase.Circuit)
            {
                attempt.Ticket = await EnterCircuitAsync(token).ConfigureAwait(false);
                attempt.Entry = EnterGate(token);
            }

            while (true)
            {
                bool waits = !attempt.Entry.IsCompleted;
                attempt.Lease = await attempt.Entry.ConfigureAwait(false);

                // A circuit that opened while this attempt stood in the queue must stop it: its ticket is of an older generation.
                if (!waits || _breaker is null || _breaker.IsCurrent(attempt.Ticket) || _breaker.TryEnter(out attempt.Ticket))
                {
                    break;
                }

                // What was paid was paid for a start at that moment. An attempt that waits for the circuit pays anew when it may start.
                attempt.Lease?.Dispose();
                attempt.Lease = null;
                attempt.Ticket = await EnterCircuitAsync(token).ConfigureAwait(false);
                attempt.Entry = EnterGate(token);
            }

            // A delay or a wait may end just before it hears of a cancellation: no attempt begins after the end.
            token.ThrowIfCancellationRequested();
            attempt.Phase = AttemptPhase.Call;
            return attempt;
        }
        catch
        {
            // Nothing was called, so nothing can be said about it.
            _breaker?.Ignored(attempt.Ticket);
            attempt.Lease?.Dispose();
            throw;
        }
    }

    private async ValueTask<CircuitTicket> EnterCircuitAsync(CancellationToken token)
    {
        CircuitTicket ticket = default;
        while (_breaker is not null && !_breaker.TryEnter(out ticket))
        {
            if (!_waitsForCircuit)
            {
                throw _breaker.CreateRejection();
            }

            await _breaker.WaitAsync(token).ConfigureAwait(false);
        }

        return ticket;
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

        return await _fallback.GetResultAsync(failure, callerToken).ConfigureAwait(false);
    }

    // A call or a gate that throws before it returns a task is treated as one whose task failed.
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

    private ValueTask<IDisposable?> EnterGate(CancellationToken token)
    {
        try
        {
            return _gate is null ? default : _gate.EnterAsync(token);
        }
        catch (Exception exception)
        {
            return ValueTask.FromException<IDisposable?>(exception);
        }
    }

    private void ReportFailure(CircuitTicket ticket, Exception exception, CancellationToken token, CancellationToken callerToken)
    {
        if (exception is OperationCanceledException && token.IsCancellationRequested && !callerToken.IsCancellationRequested)
        {
            // The total timeout has ended the call: what is called was too slow, though the exception does not say so.
            _breaker?.Failed(ticket);
        }
        else
        {
            _breaker?.Report(ticket, exception, callerToken);
        }
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
}
