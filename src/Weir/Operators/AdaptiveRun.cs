using Weir.Core.Dispatch;

namespace Weir.Operators;

/// <summary>The settings of runs whose limit adapts. Separate from <see cref="OperatorRun"/>, so that other runs do not pay for it.</summary>
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
}
