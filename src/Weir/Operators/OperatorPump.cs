using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Policies;
using Weir.Resilience;

namespace Weir.Operators;

/// <summary>
/// Chooses, once per run, what wraps the user's call. Each choice is a separate type, so a run without features calls nothing but the user's delegate.
/// </summary>
internal static class OperatorPump
{
    public static Pump Make<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        RunTrace? trace,
        ItemRecords? records)
        where TSink : struct, ISink<TResult>
    {
        CallPolicies? policies = CallPolicies.Of(options, settings.Adaptive, settings.Guarded || settings.PerItemTimeout is not null, records);
        RunRecovery<TResult>? recovery = RunRecovery<TResult>.Of(options, policies);

        // One method each: what a method names is loaded when it is compiled, also what its first call does not use.
        return policies is { Records: { } open } ? MakeRecorded(source, selector, sink, options, settings, policies, open, recovery, trace)
            : policies is not null ? MakeWithPolicies(source, selector, sink, options, settings, policies, recovery, trace)
            : settings.Adaptive is { } adaptive ? MakeAdaptive(source, selector, sink, settings, adaptive, recovery, trace)
            : Make<TItem, TResult, TSink, PendingResult<TResult>, SelectorCall<TItem, TResult>>(
                source, new SelectorCall<TItem, TResult>(selector), sink, settings, recovery, trace);
    }

    /// <summary>Creates the run of an action without policies around an attempt.</summary>
    public static Pump MakeDiscard<TItem, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings)
        where TSink : struct, ISink<Nothing>
    {
        RunRecovery<Nothing>? recovery = RunRecovery<Nothing>.Of(options, null);
        ActionCall<TItem> call = new(action);
        return settings.Adaptive is { } adaptive
            ? Make<TItem, Nothing, TSink, AdaptivePending<Nothing, PendingNothing>, AdaptiveCall<TItem, Nothing, PendingNothing, ActionCall<TItem>>>(
                source, new(call, adaptive), sink, settings, recovery, null)
            : Make<TItem, Nothing, TSink, PendingNothing, ActionCall<TItem>>(source, call, sink, settings, recovery, null);
    }

    private static Pump MakeRecorded<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        CallPolicies policies,
        ItemRecords records,
        RunRecovery<TResult>? recovery,
        RunTrace? trace)
        where TSink : struct, ISink<TResult>
    {
        policies.ItemHooks = HookCalls<TItem>.Of(options);
        if (policies.ItemHooks is { HasError: true } hooks)
        {
            records.KeepsFailed = true;
            settings = settings with { OnError = ErrorHook(settings.OnError, hooks, records, policies) };
        }

        return MakeWithPolicies(source, selector, new RecordedSink<TResult, TSink>(sink, records), options, settings, policies, recovery, trace);
    }

    private static Func<long, Exception, ValueTask<bool>> ErrorHook(
        Func<long, Exception, ValueTask<bool>>? first, HookCalls hooks, ItemRecords records, CallPolicies policies) =>
        async (index, error) =>
        {
            ItemRecord? record = records.TakeFailed(index);
            bool goesOn = first is null || await first(index, error).ConfigureAwait(false);

            // The run may have given up the first one.
            return record is null || policies.HasRunEnded ? goesOn : await hooks.ErrorAsync(record, index, error).ConfigureAwait(false) && goesOn;
        };

    private static Pump MakeWithPolicies<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        CallPolicies policies,
        RunRecovery<TResult>? recovery,
        RunTrace? trace)
        where TSink : struct, ISink<TResult>
    {
        TimeoutPolicy<TResult>? timeout = policies.AttemptTimeoutOf<TResult>(options);
        Pump pump = Make<TItem, TResult, TSink, PolicyPending<TResult>, PolicyCall<TItem, TResult>>(
            source,
            new PolicyCall<TItem, TResult>(selector, policies, timeout, KeyedGuards<TItem>.Of(options, policies)),
            sink,
            timeout is null && policies.Places is null ? settings : settings with
            {
                OnEnd = AtEnd(timeout, policies.Places, settings.OnEnd),
                OnLimitRaised = policies.Places is { } places ? places.LimitRaised : null,

                // The call has a token of its own then, that of its attempt. A limit of the user's gets the item's, and one whose place an item waits for
                // without a worker keeps it meanwhile.
                SharesTokens = timeout is not null && policies.Places is null && policies.RateLimit is null or TokenBucket,
            },
            recovery,
            trace);
        policies.Attach(pump);
        return pump;
    }

    private static Action AtEnd<TResult>(TimeoutPolicy<TResult>? timeout, RunPlaces? places, Action? then) => () =>
    {
        places?.Close();
        timeout?.Close();
        then?.Invoke();
    };

    private static Pump MakeAdaptive<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        PumpSettings settings,
        AdaptiveController adaptive,
        RunRecovery<TResult>? recovery,
        RunTrace? trace)
        where TSink : struct, ISink<TResult> =>
        Make<TItem, TResult, TSink, AdaptivePending<TResult, PendingResult<TResult>>,
            AdaptiveCall<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>>>(
            source, new(new SelectorCall<TItem, TResult>(selector), adaptive), sink, settings, recovery, trace);

    /// <summary>Creates the run of a call, inside the spans of its items if there are any.</summary>
    private static Pump Make<TItem, TResult, TSink, TPending, TCall>(
        Source<TItem> source, TCall call, TSink sink, PumpSettings settings, RunRecovery<TResult>? recovery, RunTrace? trace)
        where TSink : struct, ISink<TResult>
        where TPending : struct, IPending<TResult>
        where TCall : struct, ICall<TItem, TPending> =>
        trace is null
            ? new Pump<TItem, TResult, TPending, TCall, TSink>(source, call, sink, settings, recovery)
            : MakeTraced<TItem, TResult, TSink, TPending, TCall>(source, call, sink, settings, recovery, trace);

    private static Pump<TItem, TResult, PendingResult<TResult>, TracedCall<TItem, TResult, TPending, TCall>,
        TracedSink<TResult, TSink>> MakeTraced<TItem, TResult, TSink, TPending, TCall>(
        Source<TItem> source, TCall call, TSink sink, PumpSettings settings, RunRecovery<TResult>? recovery, RunTrace trace)
        where TSink : struct, ISink<TResult>
        where TPending : struct, IPending<TResult>
        where TCall : struct, ICall<TItem, TPending> =>
        new(source, new TracedCall<TItem, TResult, TPending, TCall>(call, trace), new TracedSink<TResult, TSink>(sink, trace), settings, recovery);
}
