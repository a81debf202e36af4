using Weir.Core.Dispatch;
using Weir.Operators;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// The policies of one run that stand around one attempt: the circuit breaker, then the rate limit, then the user's call. The rest (retry, fallback, time limits) is
/// decided where an attempt has failed, in <see cref="RunRecovery{TResult}"/> and by the engine.
/// </summary>
internal sealed class CallPolicies
{
    private readonly ParallelRunOptions _options;
    private readonly CircuitBreaker? _breaker;
    private readonly IRateGate? _gate;
    private readonly AdaptiveController? _adaptive;

    private CallPolicies(ParallelRunOptions options, AdaptiveController? adaptive)
    {
        _options = options;
        _adaptive = adaptive;
        _breaker = options.SharedCircuitBreaker
            ?? (options.CircuitBreaker is { } breaker ? new CircuitBreaker(breaker with { TimeProvider = ClockOf(breaker.TimeProvider, options) }) : null);
        _gate = options.SharedRateLimit
            ?? (options.RateLimit is { } limit ? new TokenBucket(limit with { TimeProvider = ClockOf(limit.TimeProvider, options) }) : null);
    }

    /// <summary>The token of the run. A cancellation that comes from it says nothing about what was called.</summary>
    public CancellationToken RunToken { get; set; }

    public CircuitBreaker? Breaker => _breaker;

    /// <summary>
    /// The limit of one attempt, inside the other policies: its time begins when the rate limit has let the attempt through, and the breaker hears of it. Null when there is
    /// none; a run without policies leaves it to the engine.
    /// </summary>
    public TimeoutPolicy<TResult>? AttemptTimeoutFor<TResult>() =>
        _options.AttemptTimeout is { } limit
            ? new TimeoutPolicy<TResult>(new TimeoutOptions { Timeout = limit, TimeProvider = _options.TimeProvider })
            : null;

    /// <summary>The policies of the options, or null when none stands around an attempt.</summary>
    public static CallPolicies? Of(ParallelRunOptions options, AdaptiveController? adaptive, bool isTraced) =>
        options.CircuitBreaker is null && options.SharedCircuitBreaker is null && options.RateLimit is null && options.SharedRateLimit is null
        && !(adaptive is not null && (isTraced || OperatorPump.HasItemHooks(options)))
            ? null
            : new CallPolicies(options, adaptive);

    public async ValueTask<TResult> InvokeAsync<TItem, TResult>(
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TimeoutPolicy<TResult>? attemptTimeout,
        TItem item,
        int index,
        bool isFirst,
        CancellationToken cancellationToken)
    {
        if (isFirst && _options.OnStartItemAsync is { } starting)
        {
            await starting(index).ConfigureAwait(false);
        }

        TResult result = await AttemptAsync(selector, attemptTimeout, item, cancellationToken).ConfigureAwait(false);
        if (_options.OnCompleteItemAsync is { } completed)
        {
            await completed(index).ConfigureAwait(false);
        }

        return result;
    }

    private async ValueTask<TResult> AttemptAsync<TItem, TResult>(
        Func<TItem, CancellationToken, ValueTask<TResult>> selector, TimeoutPolicy<TResult>? attemptTimeout, TItem item, CancellationToken cancellationToken)
    {
        CircuitTicket ticket = default;
        if (_breaker is not null && !_breaker.TryEnter(out ticket))
        {
            throw _breaker.CreateRejection();
        }

        IDisposable? lease = null;
        try
        {
            if (_gate is not null)
            {
                lease = await _gate.EnterAsync(cancellationToken).ConfigureAwait(false);
                if (_breaker is not null && !_breaker.IsCurrent(ticket) && !TryEnterAnew(_breaker, ref ticket))
                {
                    throw _breaker.CreateRejection();
                }
            }

            TResult result = _adaptive is null
                ? await CallAsync(selector, attemptTimeout, item, cancellationToken).ConfigureAwait(false)
                : await MeasureAsync(_adaptive, selector, attemptTimeout, item, cancellationToken).ConfigureAwait(false);
            _breaker?.Succeeded(ticket);
            return result;
        }
        catch (Exception e) when (Report(ticket, e))
        {
            throw;
        }
        finally
        {
            lease?.Dispose();
        }
    }

    private static ValueTask<TResult> CallAsync<TItem, TResult>(
        Func<TItem, CancellationToken, ValueTask<TResult>> selector, TimeoutPolicy<TResult>? attemptTimeout, TItem item, CancellationToken cancellationToken) =>
        attemptTimeout is null
            ? selector(item, cancellationToken)
            : attemptTimeout.ExecuteAsync(static (call, token) => call.selector(call.item, token), (selector, item), cancellationToken);

    /// <summary>Makes the call, and tells the adaptive limit of its latency alone: no waiting for a token, no hook.</summary>
    private static async ValueTask<TResult> MeasureAsync<TItem, TResult>(
        AdaptiveController adaptive,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TimeoutPolicy<TResult>? attemptTimeout,
        TItem item,
        CancellationToken cancellationToken)
    {
        long started = adaptive.Timestamp();
        bool succeeded = false;
        try
        {
            TResult result = await CallAsync(selector, attemptTimeout, item, cancellationToken).ConfigureAwait(false);
            succeeded = true;
            return result;
        }
        finally
        {
            adaptive.Ended(started, succeeded, cancellationToken);
        }
    }

    /// <summary>The wait for a token was long enough for the circuit to change: the old permission goes back, and a new one is asked for.</summary>
    private static bool TryEnterAnew(CircuitBreaker breaker, ref CircuitTicket ticket)
    {
        breaker.Ignored(ticket);
        return breaker.TryEnter(out ticket);
    }

    /// <summary>Tells the breaker of a failure. A rejection of its own, or of the rate limit, says nothing about what was called.</summary>
    private bool Report(CircuitTicket ticket, Exception error)
    {
        if (_breaker is null)
        {
            return false;
        }

        if (error is RateLimitRejectedException)
        {
            _breaker.Ignored(ticket);
        }
        else if (error is not CircuitBreakerOpenException)
        {
            _breaker.Report(ticket, error, RunToken);
        }

        return false;
    }

    private static TimeProvider ClockOf(TimeProvider own, ParallelRunOptions options) => own == TimeProvider.System ? options.TimeProvider : own;
}
