namespace Weir.Lab.Results;

/// <summary>What an arm that adapts itself decided, and why.</summary>
public sealed record DecisionRecord
{
    /// <summary>In which of its calls: <c>first</c>, when it knew nothing, or <c>last</c>.</summary>
    public required string Call { get; init; }

    /// <summary>When, in seconds since the start of the call.</summary>
    public required double AtSeconds { get; init; }

    /// <summary>How many items of the call had ended.</summary>
    public required long Items { get; init; }

    /// <summary>How items ran before.</summary>
    public required string From { get; init; }

    /// <summary>How items run from then on; the same if only a limit changed.</summary>
    public required string To { get; init; }

    /// <summary>The threads that it may keep busy from then on.</summary>
    public required int Threads { get; init; }

    /// <summary>The items that it may have in flight from then on.</summary>
    public required int InFlight { get; init; }

    /// <summary>The reason, for people.</summary>
    public required string Reason { get; init; }

    /// <summary>The decision as a sentence.</summary>
    /// <returns>Call, time, items, change and reason.</returns>
    public override string ToString() => FormattableString.Invariant(
        $"{Call} call, {AtSeconds * 1e3:0.00} ms, {Numbers.Grouped(Items)} items: {(From == To ? To : $"{From} -> {To}")}, threads ")
            + FormattableString.Invariant($"{Numbers.Grouped(Threads)}, in flight {Numbers.Grouped(InFlight)}: {Reason}");
}
