namespace Weir.Lab.Results;

/// <summary>One way to do the work, with a number of workers, and its rounds.</summary>
public sealed record ArmRecord
{
    /// <summary>The setting with the command, if the arm is a program that is started once per round.</summary>
    public const string Command = "command";

    /// <summary>The name. Arms with the same name differ only in their workers.</summary>
    public required string Name { get; init; }

    /// <summary>The number of workers.</summary>
    public required int Workers { get; init; }

    /// <summary>The settings of this arm, by name.</summary>
    public IReadOnlyDictionary<string, string> Settings { get; init; } = new Dictionary<string, string>();

    /// <summary>The parameters that the run varied, and their values in this arm; they are part of its name.</summary>
    public IReadOnlyDictionary<string, string> Varied { get; init; } = new Dictionary<string, string>();

    /// <summary>The rounds, in the order in which they were measured.</summary>
    public IReadOnlyList<RoundRecord> Rounds { get; init; } = [];

    /// <summary>The decisions of the arm, if it adapts itself.</summary>
    public IReadOnlyList<DecisionRecord> Decisions { get; init; } = [];

    /// <summary>The profile of one more round after these; <see langword="null"/> without one. That round is not among them.</summary>
    public ProfileRecord? Profile { get; init; }

    /// <summary>The rounds that ran to their end and are valid.</summary>
    [JsonIgnore]
    public IReadOnlyList<RoundRecord> Counted => [.. Rounds.Where(static r => !r.Partial && r.Problem is null)];

    /// <summary>Whether there is anything to report.</summary>
    [JsonIgnore]
    public bool IsMeasured => Counted.Count > 0;

    /// <summary>Whether the arm is such a program. It has no workers of the lab, and nothing is known about its inside.</summary>
    [JsonIgnore]
    public bool IsProgram => Settings.ContainsKey(Command);

    /// <summary>Name and workers.</summary>
    [JsonIgnore]
    public string Label => IsProgram ? Name : $"{Name} x {Workers}";

    /// <summary>Whether its operations are items of passes. Those of a queue have figures of their own.</summary>
    internal bool HasPasses => Rounds.Any(static r => r is { Passes: not null, Lost: null });

    /// <summary>Whether its operations are items that went through a queue.</summary>
    internal bool HasQueue => Rounds.Any(static r => r.Lost is not null);

    /// <summary>The same arm; if it was stopped before its first round ended, with the part of that round that there is.</summary>
    internal ArmRecord OrPart() => IsMeasured ? this : this with { Rounds = [.. Rounds.Select(static r => r with { Partial = false })] };

    /// <summary>The rates per second of the rounds. Its median is the arm's rate wherever one figure is shown.</summary>
    internal Spread Rate() => Spread.Of(Counted.Select(static r => r.Rate));

    /// <summary>The median of the rates, and the two rates between which the true median lies.</summary>
    public MedianInterval RateInterval() => MedianInterval.Of([.. Counted.Select(static r => r.Rate)]);

    /// <summary>The mean of a figure over the rounds that have it.</summary>
    internal double? Mean(Func<RoundRecord, double?> figure) =>
        Counted.Select(figure).OfType<double>().ToArray() is { Length: > 0 } values ? values.Average() : null;

    /// <summary>The greatest value of a figure over the rounds that have it.</summary>
    internal double? Max(Func<RoundRecord, double?> figure) =>
        Counted.Select(figure).OfType<double>().ToArray() is { Length: > 0 } values ? values.Max() : null;

    /// <summary>The latencies of all rounds together, never averaged; <see langword="null"/> if there are none.</summary>
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
