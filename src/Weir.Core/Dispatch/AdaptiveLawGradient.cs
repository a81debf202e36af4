using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <content>Following the latency: slow start, the baseline, and probes that check it.</content>
internal sealed partial class AdaptiveLaw
{
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
