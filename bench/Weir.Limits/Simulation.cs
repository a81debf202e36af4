namespace Weir.Limits;

/// <summary>What a law reached in one of the judged spans.</summary>
/// <param name="Goodput">Calls a second that succeeded.</param>
/// <param name="Latency">Their mean time in seconds, from when they came, or were begun if callers begin them.</param>
/// <param name="Limit">The mean limit.</param>
internal readonly record struct Reached(double Goodput, double Latency, double Limit);

/// <summary>
/// Callers with a limit, and a server, event by event on a virtual clock. The same seed gives the same run. The server has a clock of its own, which goes
/// slower when the server does and stands still in a pause; a call leaves when that clock has gone on by the call's time.
/// </summary>
internal sealed class Simulation
{
    /// <summary>How many calls may wait for a place under the limit. A caller that finds no room gives up.</summary>
    private const int MostWaiting = 100_000;
    private const double TicksPerSecond = TimeSpan.TicksPerSecond;
    private const double RefusalTakes = 0.001;

    private readonly Scenario _scenario;
    private readonly ILaw _law;
    private readonly Action<double, int>? _watch;
    private readonly Random _services;
    private readonly Random _arrivals;
    private readonly PriorityQueue<Call, double> _inService = new();
    private readonly Queue<Call> _atServer = new();
    private readonly Queue<(double At, Call Call)> _refused = new();

    // The calls whose callers may leave, in the order in which they began. Those that have ended stay until their time has come.
    private readonly Queue<Call> _leaving = new();
    private readonly Queue<double> _waiting = new();
    private readonly Queue<Scenario.Change> _changes;
    private readonly Sums[] _sums;

    private double _now;
    private double _serverTime;
    private double _slower = 1;
    private bool _isPaused;
    private double _nextPause;
    private int _slots;
    private double _load;
    private double _failures;
    private int _inFlight;

    private Simulation(Scenario scenario, ILaw law, int seed, Action<double, int>? watch)
    {
        _scenario = scenario;
        _law = law;
        _watch = watch;
        _services = new Random(seed);
        _arrivals = new Random(seed + 1_000_003);
        _slots = scenario.Slots;
        _load = scenario.Load;
        _failures = scenario.Failures;
        _nextPause = scenario.Pauses ? 3 : double.PositiveInfinity;
        _changes = new Queue<Scenario.Change>(scenario.Changes);
        _sums = new Sums[scenario.Judged.Length];
    }

    private bool IsOpen => _scenario.Load > 0;

    private bool Leaves => !double.IsPositiveInfinity(_scenario.LeavesAfter);

    private bool Shares => _scenario.SharingLoss is not null;

    /// <summary>Runs a law through a scenario, and says what it reached in each judged span.</summary>
    /// <param name="scenario">The server and the callers.</param>
    /// <param name="law">The law.</param>
    /// <param name="seed">Decides everything that is chance.</param>
    /// <param name="watch">Gets the time and the limit after each call; null for nobody.</param>
    public static Reached[] Run(Scenario scenario, ILaw law, int seed, Action<double, int>? watch = null)
    {
        Simulation simulation = new(scenario, law, seed, watch);
        simulation.Run();
        return [.. simulation._sums.Zip(scenario.Judged, static (sums, span) => sums.In(span.To - span.From))];
    }

    private void Run()
    {
        double nextArrival = IsOpen ? NextArrival() : double.PositiveInfinity;
        if (!IsOpen)
        {
            Begin();
        }

        while (_now < _scenario.End)
        {
            double rate = Rate();
            double leaves = _inService.TryPeek(out _, out double due) && rate > 0 ? _now + ((due - _serverTime) / rate) : double.PositiveInfinity;
            double refused = _refused.TryPeek(out var first) ? first.At : double.PositiveInfinity;
            double left = _leaving.TryPeek(out Call leaving) ? leaving.Started + (_scenario.LeavesAfter * Scenario.Unit) : double.PositiveInfinity;
            double changes = _changes.TryPeek(out Scenario.Change change) ? change.At : double.PositiveInfinity;
            double next = Math.Min(Math.Min(Math.Min(leaves, refused), Math.Min(nextArrival, changes)), Math.Min(Math.Min(_nextPause, left), _scenario.End));
            _serverTime += rate * (next - _now);
            _now = next;
            if (next == leaves)
            {
                _serverTime = due;
                Call call = _inService.Dequeue();
                Serve();
                Ended(call, succeeded: !call.Fails);
            }
            else if (next == refused)
            {
                Ended(_refused.Dequeue().Call, succeeded: false);
            }
            else if (next == left)
            {
                if (_inService.Remove(_leaving.Dequeue(), out Call call, out _))
                {
                    Serve();
                    Ended(call, succeeded: false);
                }
            }
            else if (next == nextArrival)
            {
                if (_waiting.Count < (Leaves ? Math.Max(0, _law.Limit - _inFlight) : MostWaiting))
                {
                    _waiting.Enqueue(_now);
                }

                nextArrival = NextArrival();
                Begin();
            }
            else if (next == changes)
            {
                _changes.Dequeue();
                _slower = change.Slower ?? _slower;
                _slots = change.Slots ?? _slots;
                _load = change.Load ?? _load;
                _failures = change.Failures ?? _failures;
                Serve();
            }
            else if (next == _nextPause)
            {
                _isPaused = !_isPaused;
                _nextPause = _now + (_isPaused ? 0.3 : 2.7);
            }
        }
    }

    private double NextArrival() => _now - (Math.Log(1 - _arrivals.NextDouble()) * Scenario.Unit / (_load * _scenario.Slots));

    /// <summary>How much of its own time the server spends on each call in a second.</summary>
    private double Rate()
    {
        if (_isPaused)
        {
            return 0;
        }

        int count = _inService.Count;
        double each = !Shares || count <= _slots
            ? 1
            : _slots / (1 + (_scenario.SharingLoss!.Value * (count - _slots) / _slots)) / count;
        return each / _slower;
    }

    private void Begin()
    {
        while (_inFlight < _law.Limit && (!IsOpen || _waiting.Count > 0))
        {
            double came = IsOpen ? _waiting.Dequeue() : _now;
            Call call = new(came, _now, ++_inFlight, _services.NextDouble() < _failures);
            if (_inService.Count + _atServer.Count >= _scenario.RefusesBeyond * _slots)
            {
                _refused.Enqueue((_now + RefusalTakes, call));
            }
            else
            {
                _atServer.Enqueue(call);
                Serve();
                if (Leaves)
                {
                    _leaving.Enqueue(call);
                }
            }
        }
    }

    private void Serve()
    {
        while ((Shares || _inService.Count < _slots) && _atServer.TryDequeue(out Call call))
        {
            _inService.Enqueue(call, _serverTime + (_scenario.Draw(_services) * Scenario.Unit));
        }
    }

    private void Ended(Call call, bool succeeded)
    {
        _law.Ended(new EndedCall((long)(call.Started * TicksPerSecond), (long)(_now * TicksPerSecond), call.InFlight, _inFlight, succeeded));
        _inFlight--;
        _watch?.Invoke(_now, _law.Limit);
        for (int i = 0; i < _sums.Length; i++)
        {
            (double from, double to) = _scenario.Judged[i];
            if (_now >= from && _now < to)
            {
                _sums[i].Add(succeeded, _now - call.Came, _law.Limit);
            }
        }

        Begin();
    }

    private readonly record struct Call(double Came, double Started, int InFlight, bool Fails);

    private struct Sums
    {
        private long _ended;
        private long _succeeded;
        private double _latency;
        private double _limit;

        public void Add(bool succeeded, double latency, int limit)
        {
            _ended++;
            _limit += limit;
            if (succeeded)
            {
                _succeeded++;
                _latency += latency;
            }
        }

        public readonly Reached In(double seconds) =>
            new(_succeeded / seconds, _succeeded == 0 ? double.PositiveInfinity : _latency / _succeeded, _ended == 0 ? 0 : _limit / _ended);
    }
}
