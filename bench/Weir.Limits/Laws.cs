using Weir.Core.Dispatch;

namespace Weir.Limits;

/// <summary>A law: it hears of each call that has ended, and says how many may be in flight.</summary>
internal interface ILaw
{
    int Limit { get; }

    void Ended(in EndedCall call);
}

/// <summary>A call that has ended. Times are in ticks of 100 ns.</summary>
/// <param name="Started">When it was sent to the server.</param>
/// <param name="Ended">When its reply came.</param>
/// <param name="InFlightAtStart">How many calls were in flight when it was sent, itself included.</param>
/// <param name="InFlightAtEnd">How many calls were in flight when its reply came, itself included.</param>
/// <param name="Succeeded">Whether it returned a result.</param>
internal readonly record struct EndedCall(long Started, long Ended, int InFlightAtStart, int InFlightAtEnd, bool Succeeded)
{
    public long Latency => Math.Max(1, Ended - Started);
}

/// <summary>What a simulation makes a law from, and its name in a table.</summary>
internal sealed record LawKind(string Name, Func<int, ILaw> Create)
{
    /// <summary>All laws have the same bounds.</summary>
    public const int Max = 200;

    /// <summary>The law of <c>AdaptiveConcurrency</c>, with the defaults of its options.</summary>
    public static LawKind Weir { get; } = new("Weir", static _ => new WeirLaw());

    /// <summary>
    /// The laws of Netflix concurrency-limits (github.com/Netflix/concurrency-limits), from the formulas of its Gradient2Limit, VegasLimit and AIMDLimit and
    /// with their defaults, but for the bounds: 1 and 200 for all, where Gradient2 and AIMD would go down to 20 only, and Vegas up to 1,000.
    /// </summary>
    public static LawKind[] Published { get; } =
    [
        new("Gradient2", static _ => new Windowed(new Gradient2())),
        new("Vegas", static seed => new Vegas(seed)),
        new("AIMD", static _ => new Aimd()),
    ];

    public static LawKind Fixed(int limit) => new($"fixed {limit}", _ => new FixedLaw(limit));

    private sealed class FixedLaw(int limit) : ILaw
    {
        public int Limit => limit;

        public void Ended(in EndedCall call)
        {
        }
    }

    private sealed class WeirLaw : ILaw
    {
        private readonly AdaptiveController _controller = new(new AdaptiveSettings
        {
            Min = 1, Max = Max, Initial = 32, SampleInterval = TimeSpan.FromSeconds(1), TimeProvider = new TickClock(),
        });

        public int Limit => _controller.Limit;

        public void Ended(in EndedCall call) => _controller.Record(call.Started, call.Ended, call.InFlightAtEnd, call.Succeeded);
    }

    /// <summary>Only its frequency is asked for: a simulation says itself when a call started and ended.</summary>
    private sealed class TickClock : TimeProvider
    {
        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => 0;
    }

    /// <summary>One sample a second: the mean latency, the most in flight, and whether any call failed.</summary>
    private sealed class Windowed(ILaw inner) : ILaw
    {
        private const int Fewest = 10;
        private long _next;
        private long _sum;
        private int _count;
        private int _most;
        private bool _anyFailed;

        public int Limit => inner.Limit;

        public void Ended(in EndedCall call)
        {
            _sum += call.Latency;
            _count++;
            _most = Math.Max(_most, call.InFlightAtStart);
            _anyFailed |= !call.Succeeded;
            if (call.Ended <= _next)
            {
                return;
            }

            _next = call.Ended + TimeSpan.TicksPerSecond;
            if (_count >= Fewest)
            {
                inner.Ended(new EndedCall(call.Ended - (_sum / _count), call.Ended, _most, _most, !_anyFailed));
            }

            (_sum, _count, _most, _anyFailed) = (0, 0, 0, false);
        }
    }

    private sealed class Gradient2 : ILaw
    {
        private const double QueueSize = 4;
        private const double Smoothing = 0.2;
        private const double Tolerance = 1.5;
        private const int LongWindow = 600;
        private const int WarmUp = 10;
        private double _limit = 20;
        private double _long;
        private double _sum;
        private int _samples;

        public int Limit => (int)_limit;

        public void Ended(in EndedCall call)
        {
            double latency = call.Latency;
            if (_samples < WarmUp)
            {
                _sum += latency;
                _long = _sum / ++_samples;
            }
            else
            {
                const double Factor = 2.0 / (LongWindow + 1);
                _long = (_long * (1 - Factor)) + (latency * Factor);
            }

            if (_long / latency > 2)
            {
                _long *= 0.95;
            }

            if (call.InFlightAtStart < _limit / 2)
            {
                return;
            }

            double gradient = Math.Clamp(Tolerance * _long / latency, 0.5, 1);
            double limit = (_limit * gradient) + QueueSize;
            _limit = Math.Clamp((_limit * (1 - Smoothing)) + (limit * Smoothing), 1, Max);
        }
    }

    private sealed class Vegas : ILaw
    {
        private const int ProbeMultiplier = 30;
        private readonly Random _random;
        private double _limit = 20;
        private long _least;
        private long _count;
        private double _jitter;

        public Vegas(int seed)
        {
            _random = new Random(seed);
            _jitter = NextJitter();
        }

        public int Limit => (int)_limit;

        public void Ended(in EndedCall call)
        {
            _count++;
            if (_jitter * ProbeMultiplier * _limit <= _count)
            {
                _jitter = NextJitter();
                _count = 0;
                _least = call.Latency;
                return;
            }

            if (_least == 0 || call.Latency < _least)
            {
                _least = call.Latency;
                return;
            }

            int step = Math.Max(1, (int)Math.Log10((int)_limit));
            int queue = (int)Math.Ceiling(_limit * (1 - ((double)_least / call.Latency)));
            if (!call.Succeeded)
            {
                Set(_limit - step);
            }
            else if (call.InFlightAtStart * 2 >= _limit)
            {
                Set(queue <= step ? _limit + (6 * step) : queue < 3 * step ? _limit + step : queue > 6 * step ? _limit - step : _limit);
            }
        }

        private void Set(double limit) => _limit = Math.Clamp(limit, 1, Max);

        private double NextJitter() => 0.5 + (0.5 * _random.NextDouble());
    }

    private sealed class Aimd : ILaw
    {
        private const double Backoff = 0.9;
        private const long Timeout = 5 * TimeSpan.TicksPerSecond;

        public int Limit { get; private set; } = 20;

        public void Ended(in EndedCall call)
        {
            if (!call.Succeeded || call.Latency > Timeout)
            {
                Limit = Math.Max(1, Math.Min(Limit - 1, (int)(Limit * Backoff)));
            }
            else if (call.InFlightAtStart * 2 >= Limit)
            {
                Limit = Math.Min(Max, Limit + 1);
            }
        }
    }
}
