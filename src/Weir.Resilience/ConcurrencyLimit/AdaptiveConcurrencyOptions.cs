using Weir.Core.Dispatch;

namespace Weir;

/// <summary>
/// How a run adjusts the number of items in flight, and an <see cref="Resilience.AdaptiveLimit"/> that of calls. Immutable: a <c>with</c> expression makes a
/// changed copy.
/// </summary>
/// <remarks>
/// The limit is reviewed after each window of completed calls. It falls if too few calls succeed, if too many take longer than
/// <see cref="TargetLatency"/>, or, with <see cref="AdaptiveConcurrencyStrategy.Gradient"/>, if calls queue at the server. Chance is taken into account: a
/// few failures among few calls lower nothing. Only your call is measured, without hooks and without waiting for the source, the consumer or other calls.
/// Calls that end because the run stops, or because their caller cancels them, are not counted. An item that passes <c>PerItemTimeout</c> is a failure. Each run
/// and each limit starts from scratch; any number of them can use one instance.
/// </remarks>
public sealed record AdaptiveConcurrencyOptions
{
    private const int UsualInitial = 32;

    /// <summary>The lowest limit.</summary>
    /// <value>Items in flight; at least 1, the default.</value>
    public int MinConcurrency { get; init; } = 1;

    /// <summary>The highest limit. A stream reserves memory for that many results in flight.</summary>
    /// <value>Items in flight; at least <see cref="MinConcurrency"/>. The default is 200.</value>
    public int MaxConcurrency { get; init; } = 200;

    /// <summary>The limit at the start.</summary>
    /// <value>
    /// Items in flight, from <see cref="MinConcurrency"/> to <see cref="MaxConcurrency"/>; <see langword="null"/>, the default, for 32 or the nearest bound.
    /// </value>
    public int? InitialConcurrency { get; init; }

    /// <summary>
    /// The longest duration of a window, from the first call in it that ends. A window ends earlier when as many calls as the limit allows, and at least 64
    /// where latency counts, have ended.
    /// </summary>
    /// <value>More than zero. The default is one second.</value>
    public TimeSpan SampleInterval { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>The latency to keep. The limit falls if fewer calls than <see cref="TargetPercentile"/> are within it.</summary>
    /// <value>
    /// More than zero; <see langword="null"/>, the default, for none. <see cref="Timeout.InfiniteTimeSpan"/> is stored as <see langword="null"/>.
    /// </value>
    public TimeSpan? TargetLatency { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>The fraction of the successful calls that must be within <see cref="TargetLatency"/>. It has no effect without a target.</summary>
    /// <value>A fraction above 0 and at most 1. The default is 0.95.</value>
    public double TargetPercentile { get; init; } = 0.95;

    /// <summary>The fraction of the calls that must succeed. If fewer do, by more than chance, the limit falls. At <see cref="MinConcurrency"/>, where no
    /// lower limit can help, the fraction that succeeds there counts as enough.</summary>
    /// <value>A fraction from 0 to 1. The default is 0.95.</value>
    public double MinSuccessRate { get; init; } = 0.95;

    /// <summary>How the limit grows.</summary>
    /// <value>The default is <see cref="AdaptiveConcurrencyStrategy.Gradient"/>.</value>
    public AdaptiveConcurrencyStrategy IncreaseStrategy { get; init; }

    /// <summary>How the limit falls.</summary>
    /// <value>The default is <see cref="AdaptiveConcurrencyStrategy.Gradient"/>.</value>
    public AdaptiveConcurrencyStrategy DecreaseStrategy { get; init; }

    /// <summary>Called with the old and the new limit after the limit has changed.</summary>
    /// <remarks>
    /// It is called on the thread pool, one call at a time and in order: the old limit of each call is the new limit of the previous one. Changes during a
    /// call are reported together afterwards, or not at all if they cancel out. The run does not wait for these calls; the last one may come shortly after
    /// the run has ended. An exception from it is discarded.
    /// </remarks>
    public Func<int, int, ValueTask>? OnConcurrencyChange { get; init; }

    internal int FirstLimit => InitialConcurrency ?? Math.Clamp(UsualInitial, MinConcurrency, MaxConcurrency);

    /// <summary>The settings of the law, by a clock.</summary>
    internal AdaptiveSettings SettingsWith(TimeProvider time) => new()
    {
        Min = MinConcurrency,
        Max = MaxConcurrency,
        Initial = FirstLimit,
        SampleInterval = SampleInterval,
        TargetLatency = TargetLatency,
        TargetPercentile = TargetPercentile,
        MinSuccessRate = MinSuccessRate,
        Increase = IncreaseStrategy,
        Decrease = DecreaseStrategy,
        OnChange = OnConcurrencyChange,
        TimeProvider = time,
    };

    internal void Validate()
    {
        Require.AtLeastOne(MinConcurrency, nameof(MinConcurrency));
        if (MaxConcurrency < MinConcurrency)
        {
            throw new ArgumentOutOfRangeException(
                nameof(MaxConcurrency), MaxConcurrency, $"{nameof(MaxConcurrency)} must be at least {nameof(MinConcurrency)}, which is {MinConcurrency}.");
        }

        if (InitialConcurrency is { } initial && (initial < MinConcurrency || initial > MaxConcurrency))
        {
            throw new ArgumentOutOfRangeException(
                nameof(InitialConcurrency),
                initial,
                $"{nameof(InitialConcurrency)} must be from {MinConcurrency} to {MaxConcurrency}, the bounds of this instance, or null.");
        }

        Require.Positive(SampleInterval, nameof(SampleInterval));
        Require.Timeout(TargetLatency, nameof(TargetLatency));
        if (!(TargetPercentile is > 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(nameof(TargetPercentile), TargetPercentile, $"{nameof(TargetPercentile)} must be above 0 and at most 1.");
        }

        if (!(MinSuccessRate is >= 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(nameof(MinSuccessRate), MinSuccessRate, $"{nameof(MinSuccessRate)} must be from 0 to 1.");
        }

        RequireStrategy(IncreaseStrategy, nameof(IncreaseStrategy));
        RequireStrategy(DecreaseStrategy, nameof(DecreaseStrategy));
    }

    private static void RequireStrategy(AdaptiveConcurrencyStrategy value, string name)
    {
        if (value is < AdaptiveConcurrencyStrategy.Gradient or > AdaptiveConcurrencyStrategy.Gradual)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be Gradient, AIMD, Aggressive or Gradual.");
        }
    }
}
