using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// Decides the limit, from one window of calls after the other. It knows neither clock nor threads, and is called by one thread at a time.
/// The formulas, and where they come from, are in docs/reference/adaptive-concurrency.md.
/// </summary>
internal sealed class AdaptiveLaw
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

    // Following the latency: slow start, the baseline, and probes that check it.

    /// <summary>Doubling ends when the latency is this many times the lowest seen.</summary>
    private const double SlowStartEnds = 1.4;

    /// <summary>The fraction of the limit at which a probe measures the latency.</summary>
    private const double ProbeDepth = 0.5;

    private Phase _phase;
    private double _baseline;

    // The limit at which the latency was last at its baseline. Below half of it, the limit doubles again; far above it, it is forgotten.
    private double _capacity = double.PositiveInfinity;

    // Whether a doubling has left the latency unchanged. Without one, even the first window may have seen a queue.
    private bool _seenFlat;
    private bool _calibrates;

    // The previous window, if it was bad and not the first bad one, which had begun before the change.
    private (int Limit, double Latency)? _lastBad;
    private bool _settled;
    private int _strikes;

    // The last window that could not estimate its error, and by how much such windows differ.
    private (int Limit, double Latency)? _lastFew;
    private double _variation = 0.5;

    // How many times in a row such a window's latency has risen as a queue's does when the limit grows. Once may be chance; twice is not.
    private int _rises;

    private (int Limit, double Latency, double Error) _above;
    private double _resume;
    private bool _doubtful;
    private int _sinceProbe;
    private int _probeEvery = FirstProbe;

    private enum Phase
    {
        SlowStart = 0,
        Steady,
        Probe,
    }

    private void Follow(in AdaptiveWindow window)
    {
        bool isFew = window.Moments < AdaptiveWindow.FewMoments;
        double latency = _phase == Phase.SlowStart ? Math.Max(window.Turnover, window.Latency) : window.Latency;
        bool isUnexplained = false;
        double error = isFew ? EstimateErrorOfFew(latency, window.Error, out isUnexplained) : window.Error;
        double noise = Noise * error;
        if (_phase == Phase.Probe)
        {
            Compare(latency, error);
            return;
        }

        bool first = _baseline == 0;
        if (first || _calibrates)
        {
            _baseline = latency;
            if (_calibrates)
            {
                _calibrates = false;
                Rise(latency, error);
                return;
            }
        }

        double tolerance = _phase == Phase.SlowStart ? SlowStartEnds + (isFew && _rises < 2 ? noise : 0) : Tolerance() + noise;
        if (latency > tolerance * _baseline)
        {
            if (_phase == Phase.SlowStart && isUnexplained)
            {
                // Not our queue, which would not have grown by more than the limit. So the earlier windows were too fast, or this one is too slow.
                _baseline = Approach(latency);
            }
            else if (_phase == Phase.SlowStart)
            {
                EndSlowStart(_baseline / latency);
            }
            else
            {
                Retreat(latency, error);
            }

            return;
        }

        Forget();
        if (_phase == Phase.SlowStart)
        {
            _seenFlat |= !first;

            // The values may be too low by as much as they differ, so the lowest of them would be too low as well.
            _baseline = isFew ? Approach(latency) : Math.Min(_baseline, latency);
            Set(2.0 * Limit, 0);
            return;
        }

        if (latency < _baseline * (1 - 2 * error))
        {
            _baseline += 0.2 * (latency - _baseline);
        }
        else if (latency < _baseline * (1 + 1.5 * error))
        {
            _baseline += 0.1 * (latency - _baseline);
        }

        Rise(latency, error);
    }

    private double Approach(double latency) => _baseline + (0.5 * (latency - _baseline));

    /// <summary>
    /// The error of a window whose calls ended at too few moments to estimate it: how far such windows have differed from each other so far. A difference
    /// that the change of the limit explains, with a queue or without one, does not count.
    /// </summary>
    private double EstimateErrorOfFew(double latency, double error, out bool isUnexplained)
    {
        isUnexplained = false;
        if (_lastFew is { } last)
        {
            double queued = last.Latency * Limit / last.Limit;
            double over = latency - Math.Max(last.Latency, queued);
            double under = Math.Min(last.Latency, queued) - latency;
            double difference = Math.Max(0, Math.Max(over, under)) / Math.Max(latency, last.Latency);
            _variation += (difference > _variation ? 0.5 : 0.1) * (difference - _variation);
            isUnexplained = over > 0.1 * latency;
            _rises = !isUnexplained && latency > SlowStartEnds * last.Latency ? _rises + 1 : 0;
        }

        _lastFew = (Limit, latency);
        return Math.Min(error, _variation);
    }

    /// <summary>
    /// The ratio of latency to baseline when as many calls queue as are allowed: Vegas' queue L (1 - baseline / latency), solved for the ratio.
    /// </summary>
    private double Tolerance()
    {
        double share = Allowance(Limit) / Limit;
        return share < 0.99 ? 1 / (1 - share) : 100;
    }

    private void EndSlowStart(double gradient)
    {
        // At most to where doubling began, because the gradient of so few calls may be wrong. If it was deeper, or no doubling left the latency unchanged, a
        // probe follows.
        double factor = Math.Max(gradient, 0.5);
        _sinceProbe = !_seenFlat || gradient < 0.45 ? MaxProbeInterval : 0;
        _probeEvery = FirstProbe;
        _phase = Phase.Steady;
        _calibrates = true;
        Forget();
        Fall(factor);
        _capacity = _exact;
    }

    private void Retreat(double latency, double error)
    {
        double gradient = Math.Max(MaxDecrease, _baseline / latency);
        if (_lastBad is { } before)
        {
            // A queue shrinks with the limit. A latency that does not fall at least half as far as the limit did is not our queue's.
            bool stays = latency > before.Latency * (1 - 0.5 * (1 - (double)Limit / before.Limit));
            _strikes = stays ? _strikes + 1 : 0;
            if (_strikes >= 2 || Limit <= _settings.Min)
            {
                Forget();
                _doubtful = true;
                _resume = _exact;
                StartProbe(latency, error, Math.Min(ProbeDepth, gradient));
                return;
            }
        }

        _lastBad = _settled ? (Limit, latency) : null;
        _settled = true;
        _capacity = Limit * (_baseline / latency);
        Fall(gradient);
    }

    private void Rise(double latency, double error)
    {
        if (++_sinceProbe >= _probeEvery && Limit > _settings.Min)
        {
            _resume = _exact;
            StartProbe(latency, error, ProbeDepth);
        }
        else if (_settings.Increase != AdaptiveConcurrencyStrategy.Gradient)
        {
            Grow();
        }
        else if (_exact < _capacity / 2)
        {
            Set(2 * _exact, Limit);
        }
        else if (_exact > 1.5 * _capacity + 2)
        {
            // The server's capacity is no longer what it was.
            _capacity = double.PositiveInfinity;
            _phase = Phase.SlowStart;
            _seenFlat = true;
            Set(2.0 * Limit, 0);
        }
        else
        {
            Grow();
        }
    }

    private void StartProbe(double latency, double error, double depth)
    {
        _phase = Phase.Probe;
        _above = (Limit, latency, error);
        Set(Math.Min(Limit * depth, Limit - 1), Limit);
    }

    /// <summary>Ends a probe's window: if the latency fell with the limit, there was a queue.</summary>
    private void Compare(double latency, double error)
    {
        (int limit, double above, double errorAbove) = _above;
        double noise = 0.7 * Noise * Math.Sqrt(error * error + errorAbove * errorAbove);
        if (latency < 0.8 * above && latency < above * (1 - noise))
        {
            bool lower = latency < _baseline * (1 - error);
            _resume = Math.Min(_resume, Math.Max(Limit, limit * latency / above));
            if (lower)
            {
                _baseline = latency;
                _probeEvery = FirstProbe;
                if (latency / above < ((double)Limit / limit + 1) / 2 && Limit > _settings.Min)
                {
                    // It fell about as far as the limit, so there may still be a queue: probe further down.
                    StartProbe(latency, error, ProbeDepth);
                    return;
                }
            }

            _capacity = _resume;
        }
        else if (latency <= 1.25 * above)
        {
            Confirm(latency, (latency + above) / 2);
        }

        EndProbe();
    }

    /// <summary>Nothing queued: both latencies are the server's own, so the baseline moves towards them.</summary>
    private void Confirm(double latency, double mean)
    {
        if (_doubtful)
        {
            _baseline = latency;
            _capacity = double.PositiveInfinity;
            _probeEvery = FirstProbe;
        }
        else
        {
            _baseline += 0.5 * (Math.Min(mean, 1.5 * _baseline) - _baseline);
            _probeEvery = Math.Min(MaxProbeInterval, 2 * _probeEvery);
        }
    }

    private void EndProbe()
    {
        if (_phase == Phase.Probe)
        {
            Debug.Assert(_resume > 0, "A probe knows where it came from.");
            _phase = Phase.Steady;
            _doubtful = false;
            _sinceProbe = 0;
            Forget();
            Set(_resume, Limit);
        }
    }

    private void Forget()
    {
        _lastBad = null;
        _settled = false;
        _strikes = 0;
    }
}

/// <summary>The settings of an adaptive limit. Validated by the public API.</summary>
internal sealed record AdaptiveSettings
{
    public required int Min { get; init; }

    public required int Max { get; init; }

    public required int Initial { get; init; }

    /// <summary>The longest duration of a window of calls, from its first completion.</summary>
    public required TimeSpan SampleInterval { get; init; }

    /// <summary>The latency above which a window is bad, or null.</summary>
    public TimeSpan? TargetLatency { get; init; }

    /// <summary>The fraction of a window's calls that must be within the target.</summary>
    public double TargetPercentile { get; init; } = 0.95;

    public double MinSuccessRate { get; init; } = 0.95;

    public AdaptiveConcurrencyStrategy Increase { get; init; }

    public AdaptiveConcurrencyStrategy Decrease { get; init; }

    /// <summary>Called with the old and the new limit.</summary>
    public Func<int, int, ValueTask>? OnChange { get; init; }

    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether the latency counts even without a target, because one of the directions uses its gradient.</summary>
    public bool UsesGradient => Increase == AdaptiveConcurrencyStrategy.Gradient || Decrease == AdaptiveConcurrencyStrategy.Gradient;
}

/// <summary>The mean latency of a window's calls, and how far it can be trusted.</summary>
/// <remarks>
/// Calls that end at the same moment are one observation, not many: whatever wakes them all, a timer tick or a reply to a whole batch, makes all of them
/// late or early together, so how little they differ says nothing. The error is therefore that of the moments' means.
/// </remarks>
internal struct WindowMean
{
    /// <summary>Calls that end within this fraction of the mean latency count as ending at the same moment.</summary>
    private const double Moment = 0.03;

    private int _count;
    private int _moments;
    private double _sum;

    // The moments that are complete: their weight, their mean and the weighted squares of their distances from it.
    private double _weight;
    private double _mean;
    private double _squares;

    // The moment that is being collected.
    private long _since;
    private int _momentCount;
    private double _momentSum;

    /// <summary>The mean; 0 without a call.</summary>
    public readonly double Value => _count == 0 ? 0 : _sum / _count;

    /// <summary>Adds calls that have ended together, in the order in which they ended.</summary>
    public void Add(double latency, int count, long ended)
    {
        if (_momentCount > 0 && ended - _since > Moment * Value)
        {
            CloseMoment();
        }

        if (_momentCount == 0)
        {
            _since = ended;
        }

        _momentCount += count;
        _momentSum += latency * count;
        _count += count;
        _sum += latency * count;
    }

    /// <summary>The standard error of the mean, relative to it.</summary>
    /// <param name="moments">The number of moments at which calls have ended.</param>
    public double Error(out int moments)
    {
        if (_momentCount > 0)
        {
            CloseMoment();
        }

        moments = _moments;
        if (moments == 0)
        {
            return 0;
        }

        double spread = moments < 2 ? 0 : Math.Sqrt(_squares / _weight * moments / (moments - 1)) / _mean;

        // So few values do not show how far they spread.
        return (moments < AdaptiveWindow.FewMoments ? Math.Max(0.5, spread) : spread) / Math.Sqrt(moments);
    }

    private void CloseMoment()
    {
        double value = _momentSum / _momentCount;
        double distance = value - _mean;
        _weight += _momentCount;
        _mean += distance * _momentCount / _weight;
        _squares += _momentCount * distance * (value - _mean);
        _moments++;
        _momentCount = 0;
        _momentSum = 0;
    }
}

/// <summary>The measurements of a window of completed calls. Times are in ticks of the run's clock.</summary>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct AdaptiveWindow
{
    /// <summary>With fewer <see cref="Moments"/> than this, a window cannot estimate its own <see cref="Error"/>.</summary>
    public const int FewMoments = 5;

    /// <summary>How many calls ended.</summary>
    public required int Count { get; init; }

    /// <summary>The fraction of them that succeeded.</summary>
    public required double SuccessRate { get; init; }

    /// <summary>The mean number of calls in flight when one of them ended, including that call.</summary>
    public required double InFlight { get; init; }

    /// <summary>The mean latency of the calls that succeeded, each limited to the law's clip; 0 if none succeeded.</summary>
    public required double Latency { get; init; }

    /// <summary>The standard error of <see cref="Latency"/>, relative to it.</summary>
    public required double Error { get; init; }

    /// <summary>The number of moments at which calls ended: calls that end together are one observation of the latency.</summary>
    public required int Moments { get; init; }

    /// <summary>
    /// The latency by Little's law: time × calls in flight ÷ calls ended. It includes the calls that have not ended yet, which the mean of those
    /// that have ended leaves out. This matters while the limit doubles.
    /// </summary>
    public required double Turnover { get; init; }

    /// <summary>The latency at the target's percentile; 0 without a target.</summary>
    public double Percentile { get; init; }
}
