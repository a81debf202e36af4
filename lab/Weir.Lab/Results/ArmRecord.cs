using System.Text.Json.Serialization;
using Weir.Lab.Latency;
using Weir.Lab.Statistics;

namespace Weir.Lab.Results;

/// <summary>One way to do the work, with a number of workers, and its rounds.</summary>
public sealed record ArmRecord
{
    /// <summary>The setting that has the command, when the arm is a program that is started once a round.</summary>
    public const string Command = "command";

    /// <summary>The way. Arms of one name differ in their workers only.</summary>
    public required string Name { get; init; }

    /// <summary>How many workers there are.</summary>
    public required int Workers { get; init; }

    /// <summary>What is particular to this arm, by name.</summary>
    public IReadOnlyDictionary<string, string> Settings { get; init; } = new Dictionary<string, string>();

    /// <summary>The parameters that the run varied, and their values in this arm; they are part of its name.</summary>
    public IReadOnlyDictionary<string, string> Varied { get; init; } = new Dictionary<string, string>();

    /// <summary>The rounds, in the order in which they were measured.</summary>
    public IReadOnlyList<RoundRecord> Rounds { get; init; } = [];

    /// <summary>What the arm decided, when it adapts itself.</summary>
    public IReadOnlyList<DecisionRecord> Decisions { get; init; } = [];

    /// <summary>What one more round after these showed under a profiler; <see langword="null"/> without one. The round is not among them.</summary>
    public ProfileRecord? Profile { get; init; }

    /// <summary>The rounds that ran to their end and are valid.</summary>
    [JsonIgnore]
    public IReadOnlyList<RoundRecord> Counted => [.. Rounds.Where(static r => !r.Partial && r.Problem is null)];

    /// <summary>Whether there is anything to report.</summary>
    [JsonIgnore]
    public bool IsMeasured => Counted.Count > 0;

    /// <summary>Whether it is such a program. It has no workers of ours, and nothing is known of its inside.</summary>
    [JsonIgnore]
    public bool IsProgram => Settings.ContainsKey(Command);

    /// <summary>Name and workers.</summary>
    [JsonIgnore]
    public string Label => IsProgram ? Name : $"{Name} x {Workers}";

    /// <summary>The rates per second of the rounds. Its median is the arm's rate wherever one figure is shown.</summary>
    internal Spread Rate() => Spread.Of(Counted.Select(static r => r.Rate));

    /// <summary>The median of the rates, and two of them between which the true one lies.</summary>
    public MedianInterval RateInterval() => MedianInterval.Of([.. Counted.Select(static r => r.Rate)]);

    /// <summary>The mean of a figure over the rounds that have it.</summary>
    internal double? Mean(Func<RoundRecord, double?> figure) =>
        Counted.Select(figure).OfType<double>().ToArray() is { Length: > 0 } values ? values.Average() : null;

    /// <summary>The greatest value of a figure over the rounds that have it.</summary>
    internal double? Max(Func<RoundRecord, double?> figure) =>
        Counted.Select(figure).OfType<double>().ToArray() is { Length: > 0 } values ? values.Max() : null;

    /// <summary>The latencies of all rounds in one, never averaged; <see langword="null"/> when there are none.</summary>
    internal LatencyHistogram? Latency(Func<RoundRecord, string?> kind)
    {
        LatencyHistogram? merged = null;
        foreach (string text in Counted.Select(kind).OfType<string>())
        {
            (merged ??= new LatencyHistogram()).Merge(HistogramCodec.Decode(text));
        }

        return merged is { Count: > 0 } ? merged : null;
    }
}
