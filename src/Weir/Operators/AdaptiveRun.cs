using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Operators;

/// <summary>Runs whose calls are measured, because their limit adapts. Apart from <see cref="OperatorRun"/>, so that others do not pay for it.</summary>
internal static class AdaptiveRun
{
    public static PumpSettings Settings(AdaptiveConcurrencyOptions options, TimeProvider time, PumpSettings settings)
    {
        AdaptiveController controller = new(new AdaptiveSettings
        {
            Min = options.MinConcurrency,
            Max = options.MaxConcurrency,
            Initial = options.FirstLimit,
            SampleInterval = options.SampleInterval,
            TargetLatency = options.TargetLatency,
            TargetPercentile = options.TargetPercentile,
            MinSuccessRate = options.MinSuccessRate,
            Increase = options.IncreaseStrategy,
            Decrease = options.DecreaseStrategy,
            OnChange = options.OnConcurrencyChange,
            TimeProvider = time,
        });
        return settings with { Limit = controller.Limit, Adaptive = controller };
    }

    public static Pump Of<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        AdaptiveController controller)
        where TSink : struct, ISink<TResult> =>
        OperatorRun.HasItemHooks(options)
            ? new Pump<TItem, TResult, PendingResult<TResult>, AdaptiveHookedCall<TItem, TResult>, TSink>(
                source, new AdaptiveHookedCall<TItem, TResult>(selector, options, controller), sink, settings)
            : new Pump<TItem, TResult, AdaptivePendingResult<TResult>, AdaptiveCall<TItem, TResult>, TSink>(
                source, new AdaptiveCall<TItem, TResult>(selector, controller), sink, settings);

    public static Pump Discard<TItem, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        AdaptiveController controller)
        where TSink : struct, ISink<Nothing> =>
        OperatorRun.HasItemHooks(options)
            ? new Pump<TItem, Nothing, PendingNothing, AdaptiveHookedActionCall<TItem>, TSink>(
                source, new AdaptiveHookedActionCall<TItem>(action, options, controller), sink, settings)
            : new Pump<TItem, Nothing, AdaptivePendingNothing, AdaptiveActionCall<TItem>, TSink>(
                source, new AdaptiveActionCall<TItem>(action, controller), sink, settings);
}
