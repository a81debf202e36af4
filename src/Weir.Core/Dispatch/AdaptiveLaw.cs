using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>
/// Decides the limit, from one window of calls after the other. It knows neither clock nor threads, and is called by one thread at a time.
/// The formulas, and where they come from, are in docs/reference/adaptive-concurrency.md.
/// </summary>
internal sealed partial class AdaptiveLaw
{
    /// <summary>The fraction of the limit that must be in use for a window to say anything about the limit.</summary>
    private const double Used = 0.75;

    /// <summary>How many standard errors count as noise.</summary>
    private const double Noise = 2.5;

    /// <summary>The smallest fraction of the limit that one window can leave.</summary>
    private const double MaxDecrease = 0.25;

    private const int FewestSamples = 16;

    // In slow start, a wrong step costs little, and a late one a lot.
    private const int FewestDoubling = 8;
    private const int MostSamples = 1024;
    private const int FirstProbe = 4;
    private const int MaxProbeInterval = 64;

    private readonly AdaptiveSettings _settings;
    private readonly int _target;
    private double _exact;
    private bool _started;

    public AdaptiveLaw(AdaptiveSettings settings)
    {
        Debug.Assert(settings.Min >= 1 && settings.Max >= settings.Min, "Validated by the public API.");
        _settings = settings;
        _exact = settings.Initial;
        Limit = settings.Initial;
        _phase = settings.Increase == AdaptiveConcurrencyStrategy.Gradient ? Phase.SlowStart : Phase.Steady;

        // So that a single slow call is still within the percentile.
        _target = settings.TargetLatency is null || settings.TargetPercentile >= 1
            ? 1
            : Math.Clamp((int)Math.Ceiling(1 / (1 - settings.TargetPercentile)), 1, 100);
    }

    /// <summary>How many calls may be in flight.</summary>
    public int Limit { get; private set; }

    /// <summary>How many completions to ignore before the next window: calls that started under the previous limit and say nothing about this one.</summary>
    public int Skip { get; private set; }

    /// <summary>How many completions make a window: one for each call in flight, and half of that for the first look at the server.</summary>
    public int Samples =>
        Math.Clamp(_started ? Limit : Limit / 2, IsDoubling ? Math.Max(FewestDoubling, _target) : Math.Max(FewestSamples, _target), MostSamples);

    /// <summary>The most that any window needs.</summary>
    public int MaxSamples => Math.Clamp(_settings.Max, Math.Max(FewestSamples, _target), MostSamples);

    /// <summary>The most that a single call's latency counts, so that one call in a thousand that hangs does not decide by itself.</summary>
    public double Clip => _baseline > 0 ? 8 * _baseline : double.PositiveInfinity;

    /// <summary>Whether the limit is lowered briefly to see how the latency reacts.</summary>
    public bool IsProbing => _phase == Phase.Probe;

    /// <summary>Whether the limit doubles with each good window.</summary>
    public bool IsDoubling => _phase == Phase.SlowStart;

    /// <summary>The latency without a queue, in ticks; 0 while unknown.</summary>
    public double Baseline => _baseline;

    /// <summary>Takes a window and sets <see cref="Limit"/>, <see cref="Skip"/> and <see cref="Samples"/> for the next one.</summary>
    public void Decide(in AdaptiveWindow window)
    {
        Skip = 0;
        if (window.Count <= 0)
        {
            return;
        }

        _started = true;
        bool failing = window.SuccessRate < _settings.MinSuccessRate;
        double overTarget = _settings.TargetLatency is { } target && window.Percentile > 0
            ? window.Percentile / Math.Max(1, target.TotalSeconds * _settings.TimeProvider.TimestampFrequency)
            : 0;
        if (failing || overTarget > 1)
        {
            _phase = Phase.Steady;
            _doubtful = false;
            Forget();
            Fall(failing ? 0.5 : Math.Max(0.5, 1 / overTarget));
            _capacity = _exact;
        }
        else if (window.InFlight < Used * Limit || window.Latency <= 0)
        {
            // The source or the consumer holds the run back, not the limit. Nothing is known about a higher limit, and nothing is wrong with this one.
            Forget();
            EndProbe();
        }
        else if (_settings.UsesGradient)
        {
            Follow(window);
        }
        else
        {
            Grow();
        }
    }

    /// <summary>Lowers the limit according to the strategy.</summary>
    /// <param name="gradient">The factor for <see cref="AdaptiveConcurrencyStrategy.Gradient"/>.</param>
    private void Fall(double gradient) => Set(
        _settings.Decrease switch
        {
            AdaptiveConcurrencyStrategy.Gradient => _exact * Math.Max(MaxDecrease, gradient),
            AdaptiveConcurrencyStrategy.Gradual => Math.Floor(Limit * 0.75),
            _ => Math.Floor(Limit * 0.5),
        },
        Limit);

    /// <summary>Raises the limit by one step, according to the strategy.</summary>
    private void Grow() => Set(
        _settings.Increase switch
        {
            AdaptiveConcurrencyStrategy.Gradient => _exact + Allowance(_exact),
            AdaptiveConcurrencyStrategy.Aggressive => Limit + Math.Max(1.0, Math.Floor(Limit * 0.1)),
            _ => Limit + 1.0,
        },
        Limit);

    /// <summary>
    /// How many calls may queue at the server, which is also the step upwards. It grows more slowly than the limit, so that of two runs at one server the
    /// larger one is the first to give way and gains less from a step.
    /// </summary>
    private static double Allowance(double limit) => Math.Max(1, Math.Sqrt(limit) / 2);

    private void Set(double limit, int skip)
    {
        Debug.Assert(double.IsFinite(limit), "Latencies are above zero, so no quotient of them is anything else.");
        _exact = Math.Clamp(limit, _settings.Min, _settings.Max);
        Limit = (int)(_exact + 0.5);
        Skip = skip;
    }
}
