namespace Weir.Limits;

/// <summary>How long a call takes on an idle server.</summary>
internal enum Service
{
    Fixed = 0,
    Even,
    Exponential,
    LogNormal,
    Bimodal,
    Tail,
}

/// <summary>What a server and its callers do, for as long as a law is watched.</summary>
internal sealed record Scenario
{
    /// <summary>The mean time of a call on an idle server, in seconds.</summary>
    public const double Unit = 0.02;

    public required string Group { get; init; }

    public required string Name { get; init; }

    /// <summary>How many calls the server works on at once. The others wait in the order in which they came.</summary>
    public required int Slots { get; init; }

    public Service Service { get; init; } = Service.Exponential;

    /// <summary>
    /// If it is not null, the server works on all its calls at once, and has the throughput of as many as its slots. With n calls more than slots it loses:
    /// its throughput is divided by 1 + loss × n ÷ slots.
    /// </summary>
    public double? SharingLoss { get; init; }

    /// <summary>The probability that a call fails, whatever the load.</summary>
    public double Failures { get; init; }

    /// <summary>How many calls, for each slot, the server lets in. It refuses the others within a millisecond.</summary>
    public double RefusesBeyond { get; init; } = double.PositiveInfinity;

    /// <summary>Calls that come a second, as a fraction of what the server can do; 0 for callers that begin a call whenever the limit allows one.</summary>
    public double Load { get; init; }

    /// <summary>
    /// After how many mean times the caller of a call leaves: the call has failed then, and its place at the server is free. Where callers leave, none waits for a
    /// place under the limit: a call that comes while there is none is refused.
    /// </summary>
    public double LeavesAfter { get; init; } = double.PositiveInfinity;

    /// <summary>The server stands still for 300 ms every 3 s.</summary>
    public bool Pauses { get; init; }

    /// <summary>What changes when, in seconds.</summary>
    public Change[] Changes { get; init; } = [];

    /// <summary>The spans that are judged, in seconds.</summary>
    public (double From, double To)[] Judged { get; init; } = [(10, 30)];

    /// <summary>What it is called on a command line.</summary>
    public string Key => FormattableString.Invariant($"{Group}/{Name}/{Slots}");

    public double End => Judged[^1].To;

    /// <summary>How many calls come a second; infinity for callers that begin a call whenever the limit allows one.</summary>
    public double OfferedAt(double time) =>
        Load == 0 ? double.PositiveInfinity : Changes.Where(change => change.At <= time).Aggregate(Load, static (load, change) => change.Load ?? load) * Slots / Unit;

    /// <summary>Draws the time of a call, in units. The mean is 1, but for the tail, whose usual call takes 1.</summary>
    public double Draw(Random random)
    {
        switch (Service)
        {
            case Service.Fixed:
                return 1;
            case Service.Even:
                return 0.8 + (0.4 * random.NextDouble());
            case Service.LogNormal:
                double normal = Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble());
                return Math.Exp(normal - 0.5);
            case Service.Bimodal:
                return random.NextDouble() < 0.9 ? 0.5 : 5.5;
            case Service.Tail:
                return (random.Next(100) == 0 ? 100 : 1) * (0.9 + (0.2 * random.NextDouble()));
            default:
                return -Math.Log(1 - random.NextDouble());
        }
    }

    /// <summary>From a time on: how many times slower the server is, its slots, the load, and the share of failures. Null leaves a value as it is.</summary>
    internal readonly record struct Change(double At, double? Slower = null, int? Slots = null, double? Load = null, double? Failures = null);
}
