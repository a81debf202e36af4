using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// What a run does with a failed attempt: it waits for an open circuit, for a place of the concurrency limit or at a rate limit by key, retries, or falls back.
/// The engine does the waiting, without a worker.
/// </summary>
internal sealed class RunRecovery<TResult> : IRecovery<TResult>
{
    private readonly ParallelRunOptions _options;
    private readonly CallPolicies? _policies;
    private readonly RetryPolicy? _retry;
    private readonly TypedFallback<TResult>? _fallback;

    private RunRecovery(ParallelRunOptions options, CallPolicies? policies, TypedFallback<TResult>? fallback)
    {
        _options = options;
        _policies = policies;
        _fallback = fallback;
        _retry = options.Retry is { MaxRetries: > 0 } retry ? new RetryPolicy(retry) : null;
    }

    public TimeSpan? AttemptTimeout => _policies is null ? _options.AttemptTimeout : null;

    /// <summary>The recovery for the options, or null if a failure needs none.</summary>
    public static RunRecovery<TResult>? Of(ParallelRunOptions options, CallPolicies? policies)
    {
        TypedFallback<TResult>? fallback = options.OnFallback is { } set ? Fallback.For<TResult>(set) : null;
        bool waits = policies?.HasBreaker == true && options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen;
        waits |= policies?.Places is not null;

        // With a recovery, the engine keeps the item, which the record of one that is given up needs.
        waits |= policies?.Records is not null;
        return options.MaxRetries > 0 || options.AttemptTimeout is not null || fallback is not null || waits
            ? new RunRecovery<TResult>(options, policies, fallback)
            : null;
    }

    public Exception AttemptTimedOut(int attempt) => TimeoutFailure.OfAttempt(_options.AttemptTimeout!.Value, attempt);

    public bool HasTimedOut(Exception error) => _policies?.HasTimedOut(error) == true;

    public bool HasNotBegun(Exception error) => RefusedBy(error) is not null;

    public Task? Discard(Exception error, long index)
    {
        if (error is ItemWaitsException)
        {
            LeaveQueues(index);
        }

        return error is RefusedResultException refused ? refused.DropQuietlyAsync() : null;
    }

    public void LeaveQueues(long index) => _policies?.Places?.Drop(index);

    public ValueTask<Recovery<TResult>> DecideAsync(FailedCall call) =>
        call.Error is RefusedResultException refused ? DecideRefusedAsync(call, refused) : DecideOnAsync(call);

    private async ValueTask<Recovery<TResult>> DecideRefusedAsync(FailedCall call, RefusedResultException refused)
    {
        try
        {
            return await DecideOnAsync(call).ConfigureAwait(false);
        }
        finally
        {
            // A hook or the function for the delay has thrown; otherwise it is gone already.
            await refused.DropQuietlyAsync().ConfigureAwait(false);
        }
    }

    private async ValueTask<Recovery<TResult>> DecideOnAsync(FailedCall call)
    {
        AttemptTimeoutException.Number(call.Error, call.Attempt);
        if (_policies?.Places is { } places)
        {
            if (call.Error is ItemWaitsException waiting && waiting.WaitsAt == places)
            {
                return Recovery<TResult>.Wait(waiting.Until, waiting.Kind);
            }

            // The item's time was up, or its circuit open, before it could use what it waited for.
            places.Drop(call.Index);
        }

        if (_policies?.IsHookFailure(call.Error) == true)
        {
            return Recovery<TResult>.None;
        }

        if (RefusedBy(call.Error) is { } breaker)
        {
            // Also when the item's time is up: it made no call that could have failed, so it is timed out. The change is asked for first: one between the two
            // questions is not missed.
            Task change = breaker.NextChange;
            TimeSpan wait = breaker.RetryAfter;

            // The circuit may have changed since it refused the call. Then the item goes on at once, and not at the next tick of a timer.
            return Recovery<TResult>.Defer(wait, wait == TimeSpan.Zero ? Task.CompletedTask : change);
        }

        int index = Indices.ToInt(call.Index);
        if (!call.IsFinal || call.Error is RefusedResultException)
        {
            if (DelayAfter(call, out Exception error) is { } delay)
            {
                await BeforeRetryAsync(index, call, error).ConfigureAwait(false);
                if (!call.Token.IsCancellationRequested)
                {
                    _options.Events?.Retrying(call.Index, call.Attempt, delay, error);
                }

                return Recovery<TResult>.Retry(delay);
            }
        }

        return _fallback is null ? Recovery<TResult>.None : Recovery<TResult>.Replace;
    }

    public async ValueTask<Recovery<TResult>> ReplaceAsync(FailedCall call)
    {
        ItemRecord? record = _fallback!.ItemType is null ? null : _policies!.Records!.Find(call.Index);
        int attempt = record?.Attempt ?? call.Attempt;
        return Recovery<TResult>.Succeed(await _fallback.GetAsync(record, call.Index, attempt, call.Error).ConfigureAwait(false));
    }

    /// <summary>The circuit that an item waits for. What a call's own circuit refuses is a failure like any other.</summary>
    private CircuitBreaker? RefusedBy(Exception error) =>
        _options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen && error is CircuitBreakerOpenException { RefusedBy: { } breaker }
            && _policies?.IsOwn(breaker) == true
                ? breaker
                : null;

    /// <summary>The delay before another attempt; null if there is none.</summary>
    /// <param name="call">The attempt.</param>
    /// <param name="error">Its exception, for the hooks.</param>
    private TimeSpan? DelayAfter(FailedCall call, out Exception error)
    {
        error = call.Error;
        if (_policies?.RetryRule is not RetryRule<TResult> rule || _policies.Records?.Find(call.Index) is not { } record)
        {
            return _retry?.GetDelay(call.Attempt, call.Error, call.PreviousDelay);
        }

        AttemptOutcome<TResult> outcome;
        if (call.Error is RefusedResultException<TResult> refused)
        {
            outcome = new AttemptOutcome<TResult>(refused.Result, null, call.Attempt);
            error = new ResultRejectedException((object?)refused.Result);
        }
        else
        {
            outcome = new AttemptOutcome<TResult>(default, call.Error, call.Attempt);
            if (!_retry!.MayRetry(call.Attempt, CancellationToken.None) || !rule.ShouldRetry(record, outcome))
            {
                return null;
            }
        }

        TimeSpan? hint = rule.HasDelayHint ? rule.DelayHint(record, outcome) : outcome.HasResult ? null : _retry!.HintOf(call.Error);
        return _retry!.GetDelay(call.Attempt, call.PreviousDelay, hint);
    }

    /// <summary>Tells the hooks, and forgets a result that was refused.</summary>
    private async ValueTask BeforeRetryAsync(int index, FailedCall call, Exception error)
    {
        if (_options.Hooks?.OnRetryAsync is { } retrying)
        {
            await retrying(index, call.Attempt, error).ConfigureAwait(false);
        }

        if (_retry!.OnRetryAsync is { } retryingAny && !call.Token.IsCancellationRequested)
        {
            await retryingAny(call.Attempt, error).ConfigureAwait(false);
        }

        if (_policies?.Records?.Find(call.Index) is { } record)
        {
            if (_policies.ItemHooks is { } hooks && !call.Token.IsCancellationRequested)
            {
                await hooks.RetryAsync(record, call.Index, error).ConfigureAwait(false);
            }

            record.Retries(call.Attempt);
        }

        if (call.Error is RefusedResultException refused)
        {
            await refused.DropAsync().ConfigureAwait(false);
        }
    }
}

/// <summary>
/// Tells the engine that an attempt could not begin, because its item waits for a place of the concurrency limit, or at a rate limit by key. Never seen
/// outside.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class ItemWaitsException(RunPlaces waitsAt, Task until, WaitKind kind) : NotBegunException
{
    public RunPlaces WaitsAt => waitsAt;

    public Task Until => until;

    public WaitKind Kind => kind;
}

/// <summary>
/// Tells the engine that an attempt gave a result which the run's rule refused, so that another attempt follows. Never seen outside. A cancellation, so that
/// the item of a run that has stopped is a cancelled one.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal abstract class RefusedResultException : OperationCanceledException
{
    private int _dropped;

    /// <summary>The result, unless it is not to be disposed of.</summary>
    public abstract object? Discarded { get; }

    /// <summary>Disposes of the result, unless that has been done.</summary>
    public ValueTask DropAsync() => Interlocked.Exchange(ref _dropped, 1) == 0 ? DiscardedResult.DisposeAsync(Discarded) : default;

    /// <summary>The same where nobody hears of an exception: the item has its outcome, or an error that came first.</summary>
    public Task DropQuietlyAsync() =>
        Interlocked.Exchange(ref _dropped, 1) == 0 ? DiscardedResult.DropAsync(Discarded) : Task.CompletedTask;
}

/// <summary>The signal with its result.</summary>
/// <param name="result">The result.</param>
/// <param name="isItem">Whether it is the item itself, which is the caller's and has another attempt before it.</param>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class RefusedResultException<TResult>(TResult result, bool isItem) : RefusedResultException
{
    public override object? Discarded => isItem ? null : result;

    public TResult Result => result;
}
