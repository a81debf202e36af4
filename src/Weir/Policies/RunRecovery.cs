using Weir.Core.Dispatch;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// What a run does with a failed attempt: it waits for an open circuit or for a place of the concurrency limit, retries, or falls back. The engine does the
/// waiting, without a worker.
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
        _retry = options.MaxRetries > 0 ? new RetryPolicy(options.Retry) : null;
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
        return options.MaxRetries > 0 || (options.AttemptTimeout is not null && policies is null) || fallback is not null || waits
            ? new RunRecovery<TResult>(options, policies, fallback)
            : null;
    }

    public async ValueTask<Recovery<TResult>> DecideAsync(FailedCall call)
    {
        if (_policies?.Places is { } places)
        {
            if (call.Error is PlaceTakenException waiting && waiting.WaitsAt == places)
            {
                return Recovery<TResult>.Wait(waiting.Turn.Served);
            }

            // The item's time was up before it could use its place.
            places.Drop(call.Index);
        }

        if (_policies?.IsHookFailure(call.Error) == true)
        {
            return Recovery<TResult>.None;
        }

        int index = Indices.ToInt(call.Index);
        if (!call.IsFinal)
        {
            // What a call's own circuit refuses is a failure like any other.
            if (_options.OpenCircuitMode == OpenCircuitMode.WaitForHalfOpen && call.Error is CircuitBreakerOpenException { RefusedBy: { } breaker }
                && _policies?.IsOwn(breaker) == true)
            {
                // The change is asked for first: one between the two questions is not missed.
                Task change = breaker.NextChange;
                return Recovery<TResult>.Defer(breaker.RetryAfter, change);
            }

            if (_retry?.GetDelay(call.Attempt, call.Error, call.PreviousDelay) is { } delay)
            {
                if (_options.OnRetryAsync is { } retrying)
                {
                    await retrying(index, call.Attempt, call.Error).ConfigureAwait(false);
                }

                if (_policies?.Records?.Find(call.Index) is { } record)
                {
                    if (_policies.ItemHooks is { } hooks)
                    {
                        await hooks.RetryAsync(record, call.Index, call.Error).ConfigureAwait(false);
                    }

                    record.Retries(call.Attempt);
                }

                return Recovery<TResult>.Retry(delay);
            }
        }

        return _fallback is null
            ? Recovery<TResult>.None
            : Recovery<TResult>.Succeed(await _fallback.GetAsync(index, call.Error).ConfigureAwait(false));
    }
}
