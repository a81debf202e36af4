using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// What a run does with a failed attempt: it waits for an open circuit, for a permit of the concurrency limit or at a rate limit by key, retries, or falls back.
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
        _retry = options.Retry is { MaxRetries: > 0 } retry ? RetryPolicy.Of(retry) : null;
    }

    public TimeSpan? AttemptTimeout => _policies is null ? _options.AttemptTimeout : null;

    /// <summary>The recovery for the options, or null if a failure needs none.</summary>
    public static RunRecovery<TResult>? Of(ParallelRunOptions options, CallPolicies? policies)
    {
        TypedFallback<TResult>? fallback = options.OnFallback is { } set ? Fallback.For<TResult>(set) : null;
        bool waits = policies?.HasBreaker == true && options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen;
        waits |= policies?.Permits is not null;

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

        return error is RefusedResultException<TResult> refused ? refused.DropQuietlyAsync() : null;
    }

    public void LeaveQueues(long index) => _policies?.Permits?.Drop(index);

    /// <summary>
    /// What becomes of a failed attempt; the engine carries it out. In this order: an item that could not begin waits for a permit or for the tokens of its key;
    /// one whose hook threw fails; one that an open circuit of the run refused waits for that circuit; one with attempts left is told to the hooks, of the run,
    /// of the policy and of its item, and waits for its next attempt; what is left gets the fallback, or fails.
    /// </summary>
    public async ValueTask<Decision<TResult>> DecideAsync(FailedAttempt failed)
    {
        (long index, int attempt, Exception error) = (failed.Index, failed.Attempt, failed.Error);
        AttemptTimeoutException.Number(error, attempt);
        if (_policies?.Permits is { } permits)
        {
            if (error is ItemWaitsException waiting && waiting.WaitsAt == permits)
            {
                return Decision<TResult>.WaitFor(waiting.Kind, waiting.Until);
            }

            // The item's time was up, or its circuit open, before it could use what it waited for.
            permits.Drop(index);
        }

        if (_policies?.IsHookFailure(error) == true)
        {
            return Decision<TResult>.Fails;
        }

        if (RefusedBy(error) is { } breaker)
        {
            // Also when the item's time is up: it made no call that could have failed, so it is timed out. The change is asked for first: one between the two
            // questions is not missed.
            Task change = breaker.NextChange;
            TimeSpan wait = breaker.RetryAfter;

            // The circuit may have changed since it refused the call. Then the item continues at once, and not at the next tick of a timer.
            return Decision<TResult>.WaitForCircuit(wait, wait == TimeSpan.Zero ? Task.CompletedTask : change);
        }

        var refused = error as RefusedResultException<TResult>;
        try
        {
            ItemRecord? record = _policies?.Records?.Find(index);
            if ((!failed.IsFinal || refused is not null) && DelayAfter(failed, refused, record) is { } delay)
            {
                error = refused is null ? error : new ResultRejectedException((object?)refused.Result);
                if (_options.Hooks?.OnRetryAsync is { } ofRun)
                {
                    await ofRun(Indices.ToInt(index), attempt, error).ConfigureAwait(false);
                }

                if (_retry!.OnRetryAsync is { } ofPolicy && !failed.Token.IsCancellationRequested)
                {
                    await ofPolicy(attempt, error).ConfigureAwait(false);
                }

                if (record is not null && _policies!.ItemHooks is { } ofItem && !failed.Token.IsCancellationRequested)
                {
                    await ofItem.RetryAsync(record, index, error).ConfigureAwait(false);
                }

                record?.Retries(attempt);
                if (refused is not null)
                {
                    await refused.DropAsync().ConfigureAwait(false);
                }

                if (!failed.Token.IsCancellationRequested)
                {
                    _options.Events?.Retrying(index, attempt, delay, error);
                }

                return Decision<TResult>.Retry(delay);
            }

            return _fallback is null ? Decision<TResult>.Fails : Decision<TResult>.Replace;
        }
        finally
        {
            // A hook or the function for the delay has thrown; otherwise it is gone already.
            if (refused is not null)
            {
                await refused.DropQuietlyAsync().ConfigureAwait(false);
            }
        }
    }

    public ValueTask<TResult> ReplaceAsync(FailedAttempt failed)
    {
        ItemRecord? record = _fallback!.ItemType is null ? null : _policies!.Records!.Find(failed.Index);
        return _fallback.GetAsync(record, failed.Index, record?.Attempt ?? failed.Attempt, failed.Error);
    }

    /// <summary>The circuit that an item waits for. What a call's own circuit refuses is a failure like any other.</summary>
    private CircuitBreaker? RefusedBy(Exception error) =>
        _options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen && error is CircuitBreakerOpenException { RefusedBy: { } breaker }
            && _policies?.IsOwn(breaker) == true
                ? breaker
                : null;

    /// <summary>The delay before another attempt; null if there is none. A result that was refused has asked the rule already.</summary>
    private TimeSpan? DelayAfter(in FailedAttempt failed, RefusedResultException<TResult>? refused, ItemRecord? record)
    {
        RetryBudget? budget = record?.Budget ?? _policies?.Budget;
        if (_policies?.RetryRule is not RetryRule<TResult> rule || record is null)
        {
            return _retry?.GetDelay(failed.Attempt, failed.Error, failed.PreviousDelay, failed.Left, budget, CancellationToken.None);
        }

        AttemptOutcome<TResult> outcome = refused is null ? new(default, failed.Error, failed.Attempt) : new(refused.Result, null, failed.Attempt);
        if (refused is null && !(_retry!.MayRetry(failed.Attempt, CancellationToken.None) && rule.ShouldRetry(record, outcome)))
        {
            return null;
        }

        TimeSpan? hint = rule.HasDelayHint ? rule.DelayHint(record, outcome) : outcome.HasResult ? null : _retry!.HintOf(failed.Error);
        return refused is null
            ? _retry!.GetDelay(failed.Attempt, failed.PreviousDelay, hint, failed.Left, budget, CancellationToken.None)
            : _retry!.DelayAfter(failed.Attempt, failed.PreviousDelay, hint);
    }
}

/// <summary>
/// Tells the engine that an attempt could not begin, because its item waits for a permit of the concurrency limit, or at a rate limit by key. Never seen
/// outside.
/// </summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class ItemWaitsException(RunPermits waitsAt, Task until, WaitKind kind) : NotBegunException
{
    public RunPermits WaitsAt => waitsAt;

    public Task Until => until;

    public WaitKind Kind => kind;
}

/// <summary>
/// Tells the engine that an attempt gave a result which the run's rule refused, so that another attempt follows. Never seen outside. A cancellation, so that
/// the item of a run that has stopped is a cancelled one.
/// </summary>
/// <param name="result">The result.</param>
/// <param name="isItem">Whether it is the item itself, which is the caller's and has another attempt before it.</param>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "A signal of the engine, with what it needs.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "A signal of the engine, which no user code sees.")]
internal sealed class RefusedResultException<TResult>(TResult result, bool isItem) : OperationCanceledException
{
    private int _dropped;

    public TResult Result => result;

    /// <summary>Disposes of the result, unless that has been done.</summary>
    public ValueTask DropAsync() => TryBeginDrop() ? DiscardedResult.DisposeAsync(result) : default;

    /// <summary>Disposes of the result where nobody hears of an exception: the item has its outcome, or an error that came first.</summary>
    public Task DropQuietlyAsync() => TryBeginDrop() ? DiscardedResult.DropAsync(result) : Task.CompletedTask;

    private bool TryBeginDrop() => !isItem && Interlocked.Exchange(ref _dropped, 1) == 0;
}
