using System.Text.Json;

namespace Weir.Overload;

/// <summary>What was measured: a line of JSON on the output of the process.</summary>
internal sealed record Reading
{
    public string Arm { get; init; } = "";

    public string Server { get; init; } = "";

    public double Load { get; init; }

    public bool Notices { get; init; }

    public double Seconds { get; init; }

    /// <summary>Calls that came in the seconds that are measured.</summary>
    public int Calls { get; init; }

    /// <summary>How many of them were answered before their deadline.</summary>
    public int InTime { get; init; }

    /// <summary>What was answered in time, as a share of what the server could have answered.</summary>
    public double Goodput { get; init; }

    /// <summary>Attempts beyond the first, for each call.</summary>
    public double Retries { get; init; }

    /// <summary>Attempts that the server refused, as a share of all.</summary>
    public double Refused { get; init; }

    /// <summary>The critical calls that were answered in time, as a share of the critical calls.</summary>
    public double CriticalInTime { get; init; }

    /// <summary>Half of the critical calls that were answered took at most so long, in seconds, with all of their attempts.</summary>
    public double CriticalP50 { get; init; }

    public double CriticalP99 { get; init; }

    /// <summary>The server's work that nobody wanted any more, as a share of all that it did.</summary>
    public double Wasted { get; init; }

    /// <summary>Processors that the clients' process used in the mean.</summary>
    public double ClientCores { get; init; }

    /// <summary>Processors that the server's process used in the mean.</summary>
    public double ServerCores { get; init; }

    /// <summary>How late the clients' process began its calls: the 99th percentile, in seconds.</summary>
    public double StartLag { get; init; }

    public Second[] Curve { get; init; } = [];

    public static Reading Parse(string line) => JsonSerializer.Deserialize<Reading>(line) ?? throw new JsonException("The line has no reading.");

    public override string ToString() => JsonSerializer.Serialize(this);
}

/// <summary>One second of the load.</summary>
/// <param name="Capacity">How many calls the server could have answered.</param>
/// <param name="InTime">How many calls were answered in time.</param>
/// <param name="Limit">The limit at its end; 0 if there is none.</param>
/// <param name="Waiting">How many calls waited at the limit.</param>
internal sealed record Second(double Capacity, int InTime, int Limit, int Waiting);
