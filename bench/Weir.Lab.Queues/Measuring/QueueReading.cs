using System.Text.Json;

namespace Weir.Lab.Queues.Measuring;

/// <summary>What was measured of one arm in one turn: a line of JSON on the output of the process. A figure that was not measured is null.</summary>
/// <param name="Work">What was measured.</param>
/// <param name="Items">How many items.</param>
internal sealed record QueueReading(string Work, int Items)
{
    /// <summary>Publishing all items, with nobody who handles them.</summary>
    public const string Publish = "publish";

    /// <summary>Handling them, with nothing to do for an item.</summary>
    public const string Handle = "handle";

    /// <summary>Handling them, with 1 ms for each.</summary>
    public const string HandleSlowly = "handle 1 ms";

    /// <summary>From the call that publishes to the handler, at a fixed rate.</summary>
    public const string Latency = "latency";

    /// <summary>Workers that are killed.</summary>
    public const string Kills = "kills";

    /// <summary>How long it took; of kills, from the last one until the rest was handled.</summary>
    public double Seconds { get; init; }

    /// <summary>Processor seconds of the process that was measured.</summary>
    public double? Client { get; init; }

    /// <summary>Processor seconds of the server, if it is on this machine.</summary>
    public double? Server { get; init; }

    /// <summary>Half of the items were faster: seconds.</summary>
    public double? P50 { get; init; }

    /// <summary>All but a hundredth of the items were faster: seconds.</summary>
    public double? P99 { get; init; }

    /// <summary>How many items had not been handled when a worker was killed for the last time.</summary>
    public int? Left { get; init; }

    /// <summary>How many items nobody handled.</summary>
    public int? Lost { get; init; }

    /// <summary>How many times an item was handled once more.</summary>
    public int? Doubled { get; init; }

    /// <summary>Reads a line that <see cref="ToString"/> wrote.</summary>
    /// <exception cref="JsonException">It is no such line.</exception>
    public static QueueReading Parse(string line) => JsonSerializer.Deserialize<QueueReading>(line) ?? throw new JsonException("The line has no reading.");

    public override string ToString() => JsonSerializer.Serialize(this);
}
