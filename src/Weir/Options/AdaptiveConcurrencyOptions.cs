namespace Weir;

/// <summary>How a run finds out by itself how many items to have in flight. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <remarks>
/// The limit is looked at again after each window of completed calls. A window is bad when too few of its calls succeeded, or their latency was
/// above <see cref="TargetLatency"/>, or, with <see cref="AdaptiveConcurrencyStrategy.Gradient"/>, well above what it is without a queue. Only the user's
/// call is measured: no hook, and no waiting for the source, the consumer or other calls. Calls that end because the run stops count for
/// nothing; an item that passes <see cref="ParallelRunOptions.PerItemTimeout"/> is a failure. Each run starts anew; one instance may be used by any number of runs.
/// </remarks>
public sealed record AdaptiveConcurrencyOptions
{
    private const int UsualInitial = 32;

    /// <summary>The lowest limit.</summary>
    /// <value>Items in flight; at least 1, the default.</value>
    public int MinConcurrency { get; init; } = 1;

    /// <summary>The highest limit. A stream sets memory aside for that many results in flight.</summary>
    /// <value>Items in flight; at least <see cref="MinConcurrency"/>. The default is 200.</value>
    public int MaxConcurrency { get; init; } = 200;

    /// <summary>The limit at the start.</summary>
    /// <value>
    /// Items in flight, from <see cref="MinConcurrency"/> to <see cref="MaxConcurrency"/>; <see langword="null"/>, the default, for 32, or the nearest bound.
    /// </value>
    public int? InitialConcurrency { get; init; }

    /// <summary>How long a window of calls lasts at most, from the first of them that ends. It is shorter when as many calls as the limit allows have ended, and at least 16.</summary>
    /// <value>More than zero. The default is one second.</value>
    public TimeSpan SampleInterval { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>The latency that <see cref="TargetPercentile"/> of a window's calls have to keep, or the window is bad.</summary>
    /// <value>More than zero; <see langword="null"/>, the default, for none. <see cref="Timeout.InfiniteTimeSpan"/> is taken as <see langword="null"/>.</value>
    public TimeSpan? TargetLatency { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>The part of a window's successful calls that has to be within <see cref="TargetLatency"/>. Has no effect without one.</summary>
    /// <value>A fraction above 0 and at most 1. The default is 0.95.</value>
    public double TargetPercentile { get; init; } = 0.95;

    /// <summary>The part of a window's calls that has to succeed, or the window is bad.</summary>
    /// <value>A fraction from 0 to 1. The default is 0.95.</value>
    public double MinSuccessRate { get; init; } = 0.95;

    /// <summary>How the limit grows.</summary>
    /// <value>The default is <see cref="AdaptiveConcurrencyStrategy.Gradient"/>.</value>
    public AdaptiveConcurrencyStrategy IncreaseStrategy { get; init; }

    /// <summary>How the limit falls.</summary>
    /// <value>The default is <see cref="AdaptiveConcurrencyStrategy.Gradient"/>.</value>
    public AdaptiveConcurrencyStrategy DecreaseStrategy { get; init; }

    /// <summary>Called with the old and the new limit when the limit has changed.</summary>
    /// <remarks>
    /// Called on the thread pool, after the change has taken effect; by one call at a time and in order, so that each call's old limit is the new
    /// one of the call before. Changes during a call are told as one afterwards, or not at all if they cancel out. The run neither waits for these calls nor
    /// ends with them: the last one may come shortly after the run has ended. An exception from one is dropped.
    /// </remarks>
    public Func<int, int, ValueTask>? OnConcurrencyChange { get; init; }

    internal int FirstLimit => InitialConcurrency ?? Math.Clamp(UsualInitial, MinConcurrency, MaxConcurrency);

    internal void Validate()
    {
        Require.AtLeastOne(MinConcurrency, nameof(MinConcurrency));
        if (MaxConcurrency < MinConcurrency)
        {
            throw new ArgumentOutOfRangeException(nameof(MaxConcurrency), MaxConcurrency, $"{nameof(MaxConcurrency)} must be at least {nameof(MinConcurrency)}, which is {MinConcurrency}.");
        }

        if (InitialConcurrency is { } initial && (initial < MinConcurrency || initial > MaxConcurrency))
        {
            throw new ArgumentOutOfRangeException(
                nameof(InitialConcurrency), initial, $"{nameof(InitialConcurrency)} must be from {MinConcurrency} to {MaxConcurrency}, the bounds of this instance, or null.");
        }

        Require.Length(SampleInterval, nameof(SampleInterval));
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
