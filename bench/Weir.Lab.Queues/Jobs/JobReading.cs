using System.Text.Json;

namespace Weir.Lab.Queues.Jobs;

/// <summary>What was measured of one arm in one turn: a line of JSON on the output of the process. A figure that is not known is null.</summary>
/// <param name="Items">How many items.</param>
/// <param name="Jobs">How many jobs had them.</param>
internal sealed record JobReading(int Items, int Jobs)
{
    /// <summary>Items of nothing.</summary>
    public const string Nothing = "job-nothing";

    /// <summary>Items that wait for 1 ms.</summary>
    public const string Wait = "job-wait";

    /// <summary>A worker that is killed at half.</summary>
    public const string Kill = "job-kill";

    /// <summary>Seconds until the last job was in the system.</summary>
    public double Enqueued { get; init; }

    /// <summary>Seconds until the last effect; of a kill, from the kill until then.</summary>
    public double Seconds { get; init; }

    /// <summary>Processor seconds of the process that enqueues and works.</summary>
    public double? Client { get; init; }

    /// <summary>Processor seconds of the server, if it is on this machine.</summary>
    public double? Server { get; init; }

    /// <summary>Bytes that the server's processes have written.</summary>
    public long? Written { get; init; }

    /// <summary>Transactions of the database.</summary>
    public long? Transactions { get; init; }

    /// <summary>Rows that were inserted, updated or deleted.</summary>
    public long? Rows { get; init; }

    /// <summary>Messages that the broker got.</summary>
    public long? Messages { get; init; }

    /// <summary>Messages that were acknowledged to the broker.</summary>
    public long? Acknowledged { get; init; }

    /// <summary>How many items were done when the worker was killed.</summary>
    public int? AtKill { get; init; }

    /// <summary>How many times an item was done once more.</summary>
    public int Repeated { get; init; }

    /// <summary>How many items were not done.</summary>
    public int LeftOut { get; init; }

    /// <summary>Reads a line that <see cref="ToString"/> wrote.</summary>
    /// <exception cref="JsonException">It is no such line.</exception>
    public static JobReading Parse(string line) => JsonSerializer.Deserialize<JobReading>(line) ?? throw new JsonException("The line has no reading.");

    public override string ToString() => JsonSerializer.Serialize(this);
}
