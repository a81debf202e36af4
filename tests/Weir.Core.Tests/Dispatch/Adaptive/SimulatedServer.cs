namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>
/// A server of known capacity, simulated event by event on the manual clock: that many slots, and a queue in front of them. Up to the capacity the
/// latency is the service time; beyond it, it grows with the number of calls in flight. The same seed gives the same run.
/// </summary>
internal sealed class SimulatedServer(ManualTimeProvider clock, int capacity, int seed)
{
    /// <summary>The mean service time: the unit of every time here.</summary>
    public static readonly TimeSpan Unit = TimeSpan.FromMilliseconds(10);

    private readonly Random _random = new(seed);
    private readonly PriorityQueue<Action, (long At, long Order)> _events = new();
    private readonly Queue<(SimulatedClient Client, long Started)> _waiting = [];
    private readonly List<SimulatedClient> _clients = [];
    private long _order;
    private int _busy;

    public int Capacity { get; set; } = capacity;

    /// <summary>The time that a call takes once it has a slot, in units: by default between 0.8 and 1.2, evenly.</summary>
    public Func<Random, double> Service { get; set; } = static random => 0.8 + (0.4 * random.NextDouble());

    /// <summary>Whether a call fails.</summary>
    public Func<Random, bool> Fails { get; set; } = static _ => false;

    public double Now => clock.GetTimestamp() / (double)Unit.Ticks;

    public SimulatedServer Add(SimulatedClient client)
    {
        _clients.Add(client);
        At(client.StartsAt, () =>
        {
            client.IsActive = true;
            Feed(client);
        });
        return this;
    }

    public void At(double time, Action action) => Schedule((long)(time * Unit.Ticks), action);

    /// <summary>Runs until the given time, or until nothing is left to do.</summary>
    public void Run(double until = double.PositiveInfinity)
    {
        while (_events.TryPeek(out Action? action, out (long At, long Order) key) && key.At <= until * Unit.Ticks)
        {
            _events.Dequeue();
            clock.Advance(TimeSpan.FromTicks(key.At - clock.GetTimestamp()));
            action();
        }
    }

    private void Schedule(long at, Action action) => _events.Enqueue(action, (at, _order++));

    private void Feed(SimulatedClient client)
    {
        while (client.IsActive && client.InFlight < Math.Min(client.Limit, client.SourceAllows) && client.Started < client.Items)
        {
            client.InFlight++;
            client.Started++;
            _waiting.Enqueue((client, clock.GetTimestamp()));
        }

        Serve();
    }

    private void Serve()
    {
        while (_busy < Capacity && _waiting.TryDequeue(out (SimulatedClient Client, long Started) call))
        {
            _busy++;
            bool fails = Fails(_random);
            Schedule(clock.GetTimestamp() + Math.Max(1, (long)(Service(_random) * Unit.Ticks)), () =>
            {
                _busy--;
                call.Client.Complete(call.Started, clock.GetTimestamp(), Now, !fails);
                Serve();
                Feed(call.Client);
            });
        }
    }
}
