using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// Decides a limit, from one window of calls after the other. It knows neither clock nor threads nor whose calls they are, and is called by one thread at a
/// time. The formulas, and where they come from, are in docs/reference/adaptive-concurrency.md.
/// </summary>
/// <remarks>
/// The limit doubles until the latency rises. After that it follows Gradient2: the limit at which the latency would be at its baseline, and room for a few
/// more. The addition is that the baseline is tested, and not averaged over a long time: a test measures a window at the limit and another one below it. If
/// the latency does not fall with the limit, it is the server's own, however much it has risen. So a latency that has risen by itself lowers nothing.
/// </remarks>
internal sealed class AdaptiveLaw
{
    /// <summary>The fraction of the limit that must be in use for a window to say anything about the limit.</summary>
    private const double Used = 0.9;

    /// <summary>Doubling ends when the latency is this many times the lowest seen.</summary>
    private const double DoublingEnds = 1.4;

    /// <summary>The fraction of the limit that a test goes down to. Deeper says more, and costs more throughput.</summary>
    private const double Depth = 0.7;

    /// <summary>A window with a larger error than this lowers the limit by less.</summary>
    private const double Certain = 0.2;

    /// <summary>How many standard errors count as noise.</summary>
    private const double Noise = 2.5;

    /// <summary>Up to this fraction of a limit at which calls have failed, others show whether fewer fail at a lower one.</summary>
    private const double Lower = 0.75;

    // Windows are longer than the limit where it is low, because fewer calls say too little. While doubling, a wrong step costs little and a late one a lot.
    private const int FewestDoubling = 8;
    private const int Fewest = 64;
    private const int FewestWithoutLatency = 16;
    private const int Most = 1024;

    // How many windows after a test the next one comes: soon if it has shown something new, and after twice as many each time that it has not.
    private const int AfterNews = 2;
    private const int FirstTest = 8;
    private const int LastTest = 48;

    // A test comes before its time if the windows since the last one are so many standard errors above what is allowed, less a quarter for each of them.
    private const double Enough = 6;
    private const double Drift = 0.25;

    private readonly AdaptiveSettings _settings;
    private double _exact;
    private bool _started;
    private Phase _phase;

    // The latency without a queue, 0 while it is unknown, and how many tests it is the mean of.
    private double _baseline;
    private int _tests;

    // When the next test is due: after so many windows, or when the latency was too far above the baseline, in standard errors, over some windows.
    private int _sinceTest;
    private int _testEvery = FirstTest;
    private double _excess;

    // How many windows in a row have shown next to no queue. The limit grows faster then.
    private int _free;

    // Of a test: the limit before it, and the window at that limit.
    private double _resume;
    private (int Limit, double Latency, double Error) _above;

    private Chance _failures;
    private Chance _misses;

    // The limit from which too many failures have lowered it, and their rate there, until it is known whether that has helped; 0 otherwise.
    private (int Limit, double Rate) _fallen;

    public AdaptiveLaw(AdaptiveSettings settings)
    {
        Debug.Assert(settings.Min >= 1 && settings.Max >= settings.Min, "Validated by the public API.");
        _settings = settings;
        _exact = settings.Initial;
        Limit = settings.Initial;
        _phase = settings.Increase == AdaptiveConcurrencyStrategy.Gradient ? Phase.Doubling : Phase.Steady;
        _failures = new Chance(1 - settings.MinSuccessRate);
        _misses = new Chance(1 - settings.TargetPercentile);
    }

    private enum Phase
    {
        Doubling = 0,
        Steady,
        TestAbove,
        TestBelow,
    }

    /// <summary>How many calls may be in flight.</summary>
    public int Limit { get; private set; }

    /// <summary>How many completions to ignore before the next window: calls that started under the previous limit and say nothing about this one.</summary>
    public int Skip { get; private set; }

    /// <summary>How many completions make a window: one for each call in flight, and half of that for the first look at the server.</summary>
    public int Samples => Math.Clamp(_started ? Limit : Limit / 2, IsDoubling ? FewestDoubling : _settings.UsesGradient ? Fewest : FewestWithoutLatency, Most);

    /// <summary>The most that any window needs.</summary>
    public int MaxSamples => Math.Clamp(_settings.Max, Fewest, Most);

    /// <summary>The most that a single call's latency counts, so that one call in a thousand that hangs does not decide by itself.</summary>
    public double Clip => _baseline > 0 ? 8 * _baseline : double.PositiveInfinity;

    /// <summary>Whether a window is measured to compare it with one at another limit.</summary>
    public bool IsTesting => _phase is Phase.TestAbove or Phase.TestBelow;

    /// <summary>Whether the limit doubles with each good window.</summary>
    public bool IsDoubling => _phase == Phase.Doubling;

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
        bool fails = _failures.Exceeds(window.Failed, window.Count);
        if (_fallen.Limit > 0 && (fails || Limit > Lower * _fallen.Limit))
        {
            // As many of them fail at the lower limit. Otherwise, a rate that takes a while to be noticed lowers the limit each time it is, and never to the lowest.
            fails &= !_failures.TryAcceptAsBefore(_fallen.Rate);
            _fallen = default;
        }

        bool misses = _settings.TargetLatency is not null && _misses.Exceeds(window.Missed, window.Count - window.Failed);
        if (fails || misses)
        {
            _fallen = fails ? (Limit, _failures.Rate) : default;
            Fall();
        }
        else if (window.InFlight < Used * Limit || window.Latency <= 0)
        {
            // The source or the consumer holds the run back, not the limit. Nothing is known about a higher limit, and nothing is wrong with this one.
            EndTest();
        }
        else if (!_settings.UsesGradient)
        {
            Grow();
        }
        else if (_phase == Phase.Doubling)
        {
            Double(Math.Max(window.Turnover, window.Latency), window.Error);
        }
        else if (_phase == Phase.TestAbove)
        {
            BeginTestBelow(window.Latency, window.Error);
        }
        else if (_phase == Phase.TestBelow)
        {
            Compare(window.Latency, window.Error);
        }
        else
        {
            Follow(window.Latency, window.Error);
        }
    }

    /// <summary>Too many calls have failed, or missed the target.</summary>
    private void Fall()
    {
        EndTest();
        _phase = Phase.Steady;
        if (Limit == _settings.Min)
        {
            // No limit is low enough, so the limit is not the reason. From here it grows again, for as long as it does not get worse.
            _fallen = default;
            _failures.Accept();
            _misses.Accept();
        }

        _failures.Clear();
        _misses.Clear();

        // Where a server becomes slower with each call in flight, the baseline is the latency of too many: below it, all looks like room. So it is tested at once.
        ForgetBaseline();
        _testEvery = FirstTest;
        Set(Math.Floor(Limit * (_settings.Decrease == AdaptiveConcurrencyStrategy.Gradual ? 0.75 : 0.5)));
    }

    private void Double(double latency, double error)
    {
        if (_baseline > 0 && latency > (DoublingEnds + error) * _baseline)
        {
            // Even the first window may have seen a queue, so the baseline is unknown now.
            _phase = Phase.Steady;
            Set(Limit * Math.Max(0.5, _baseline / latency));
            ForgetBaseline();
            return;
        }

        _baseline = _baseline == 0 ? latency : Math.Min(_baseline, latency);
        if (Limit == _settings.Max)
        {
            _phase = Phase.Steady;
        }
        else
        {
            Set(2.0 * Limit, 0);
        }
    }

    /// <summary>Goes towards the limit at which the latency would be at its baseline, and plans tests of the baseline.</summary>
    private void Follow(double latency, double error)
    {
        if (_baseline == 0)
        {
            _baseline = latency;
        }
        else if (Limit == _settings.Min)
        {
            // There is nothing below to compare with.
            _baseline += 0.5 * (latency - _baseline);
        }
        else if (latency < _baseline * (1 - (2 * error)))
        {
            _baseline += 0.1 * (latency - _baseline);
        }

        double allowance = Allowance(_exact);
        double allowed = 1 / (1 - Math.Min(0.5, allowance / _exact));
        double over = ((latency / _baseline) - allowed) / Math.Max(0.02, error);
        _excess = Math.Max(0, _excess + over - Drift);
        if (Limit > _settings.Min && (++_sinceTest >= _testEvery || _excess > Enough))
        {
            _phase = Phase.TestAbove;
            _resume = _exact;
            return;
        }

        if (_settings.Increase != AdaptiveConcurrencyStrategy.Gradient)
        {
            if (over <= 0)
            {
                Grow();
            }

            return;
        }

        double queue = _exact * (1 - Math.Min(1, _baseline / latency));
        _free = queue < 0.5 * allowance ? Math.Min(_free + 1, 8) : 0;
        Set(_exact + (0.2 * ((allowance * Math.Max(1, _free)) - (queue * Math.Min(1, Certain / error)))));
    }

    private void BeginTestBelow(double latency, double error)
    {
        _phase = Phase.TestBelow;
        _above = (Limit, latency, error);
        Set(Math.Max(_settings.Min, Math.Min(Limit - 1, Math.Floor(Limit * Depth))));
    }

    /// <summary>Ends a test's window below the limit. If the latency has fallen with the limit, calls were queueing.</summary>
    private void Compare(double latency, double error)
    {
        double noise = Noise * Math.Sqrt((error * error) + (_above.Error * _above.Error));
        double depth = (double)Limit / _above.Limit;
        double fall = latency / _above.Latency;
        bool isFlat = fall > 1 - Math.Min(noise, 0.5 * (1 - depth));
        double measured = isFlat ? (latency + _above.Latency) / 2 : latency;
        bool isNew = Math.Abs(measured - _baseline) > noise * _baseline;
        _tests = isNew ? 1 : _tests + 1;
        _baseline += Math.Max(0.3, 1.0 / _tests) * (measured - _baseline);
        double most = 1.15 * depth;
        if (!isFlat && fall < most && _baseline < most * _above.Latency && Limit > _settings.Min)
        {
            // It fell about as far as the limit, so all of the difference queued, and more may.
            _testEvery = FirstTest;
            _resume = Limit;
            BeginTestBelow(latency, error);
            return;
        }

        _testEvery = isNew ? AfterNews : Math.Min(LastTest, 2 * _testEvery);
        _resume += isFlat ? Allowance(_resume) : 0;
        _resume *= isNew ? Math.Clamp(_baseline / _above.Latency, depth, 1) : 1;
        EndTest();
        if (isFlat && _tests == 1)
        {
            // The first test after doubling, so that ended too early, or the server has become another one.
            _phase = Phase.Doubling;
        }
    }

    /// <summary>The next window in use is the baseline, until a test, which is soon due.</summary>
    private void ForgetBaseline()
    {
        _baseline = 0;
        _tests = 0;
        _sinceTest = FirstTest;
    }

    /// <summary>Goes back to the limit before a test, if there is one, and forgets what the windows since the last one have shown.</summary>
    private void EndTest()
    {
        _excess = 0;

        // Before the first test nobody knows whether the baseline is one. So that test stays due while the limit is not in use.
        _sinceTest = _tests == 0 ? _sinceTest : 0;
        _free = 0;
        if (IsTesting)
        {
            _phase = Phase.Steady;
            Set(_resume);
        }
    }

    /// <summary>Raises the limit by one step, according to the strategy.</summary>
    private void Grow() => Set(
        _settings.Increase switch
        {
            AdaptiveConcurrencyStrategy.Gradient => _exact + Allowance(_exact),
            AdaptiveConcurrencyStrategy.Aggressive => Limit + Math.Max(1.0, Math.Floor(Limit * 0.1)),
            _ => Limit + 1.0,
        });

    /// <summary>
    /// How many calls may queue at the server. It grows more slowly than the limit, so that of two runs at one server the larger one is the first to give way.
    /// </summary>
    private static double Allowance(double limit) => Math.Max(1, 0.6 * Math.Sqrt(limit));

    private void Set(double limit) => Set(limit, Limit);

    private void Set(double limit, int skip)
    {
        Debug.Assert(double.IsFinite(limit), "Latencies are above zero, so no quotient of them is anything else.");
        int before = Limit;
        _exact = Math.Clamp(limit, _settings.Min, _settings.Max);
        Limit = (int)(_exact + 0.5);

        // After a small step, the calls of the limit before are as good as those of this one.
        Skip = Math.Abs(Limit - before) > 0.1 * before ? skip : 0;
    }

    /// <summary>Whether calls fail more often than they may, judged by chance: a few failures among few calls say nothing.</summary>
    /// <remarks>
    /// What is accepted beyond what the settings allow is the most that the calls can mean, and less as soon as they mean less. A rate of few calls by itself is
    /// by chance below the true one, which then looks too high again and again; and what an outage made acceptable must not stay so.
    /// </remarks>
    private struct Chance(double allowed)
    {
        /// <summary>How unlikely it must be that calls which fail as often as they may look like this: the logarithm of a thousand.</summary>
        private const double Unlikely = 6.9;
        private const double Remembered = 2000;

        /// <summary>A rate above this is noticed so soon that the limit gets to the lowest, and where most calls fail, half of the limit may well be too much too.</summary>
        private const double Noticed = 0.2;

        /// <summary>How many failures are expected where nothing has changed before calls say that nothing has.</summary>
        private const double Expected = 20;

        private readonly double _least = allowed;
        private double _allowed = allowed;
        private double _failed;
        private double _calls;

        public readonly double Rate => _failed / Math.Max(1, _calls);

        /// <summary>Adds calls, and asks Chernoff's bound of the binomial distribution: n D(f ‖ p), with the divergence D of two rates.</summary>
        public bool Exceeds(int failed, int calls)
        {
            if (_calls > Remembered)
            {
                _calls /= 2;
                _failed /= 2;
            }

            _failed += failed;
            _calls += calls;
            _allowed = Math.Max(_least, Math.Min(_allowed, Most()));
            return Rate > _allowed && _calls * Divergence(Rate, _allowed) > Unlikely;
        }

        public void Accept() => _allowed = Math.Max(_allowed, Most());

        /// <summary>Accepts the rate if about as many calls fail as did before the limit was lowered, so that the limit is not the reason.</summary>
        public bool TryAcceptAsBefore(double rate)
        {
            bool isAsBefore = rate < Noticed && _calls * rate >= Expected && Rate >= 0.8 * rate;
            if (isAsBefore)
            {
                Accept();
            }

            return isAsBefore;
        }

        public void Clear() => _failed = _calls = 0;

        /// <summary>The highest rate that is not unlikely after these calls, by the same bound, solved for the rate.</summary>
        private readonly double Most()
        {
            double each = Unlikely / Math.Max(1, _calls);
            return Math.Min(1, Rate + Math.Sqrt(2 * Rate * (1 - Rate) * each) + each);
        }

        private static double Divergence(double rate, double allowed) =>
            (rate * Math.Log(rate / allowed)) + (rate < 1 ? (1 - rate) * Math.Log((1 - rate) / (1 - allowed)) : 0);
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

    /// <summary>How many of them failed.</summary>
    public int Failed { get; init; }

    /// <summary>How many of the others took longer than the target.</summary>
    public int Missed { get; init; }

    /// <summary>The mean number of calls in flight when one of them ended, including that call.</summary>
    public required double InFlight { get; init; }

    /// <summary>The mean latency of the calls that succeeded, each limited to the law's clip; 0 if none succeeded.</summary>
    public required double Latency { get; init; }

    /// <summary>The standard deviation of these latencies, in ticks.</summary>
    public double Deviation { get; init; }

    /// <summary>The standard error of <see cref="Latency"/>, relative to it.</summary>
    public required double Error { get; init; }

    /// <summary>The number of moments at which calls ended: calls that end together are one observation of the latency.</summary>
    public required int Moments { get; init; }

    /// <summary>
    /// The latency by Little's law: time × calls in flight ÷ calls ended. It includes the calls that have not ended yet, which the mean of those
    /// that have ended leaves out. This matters while the limit doubles.
    /// </summary>
    public required double Turnover { get; init; }
}
