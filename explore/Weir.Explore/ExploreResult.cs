using System.Globalization;

namespace Weir.Explore;

/// <summary>What a search came to.</summary>
public sealed record ExploreResult
{
    /// <summary>How many schedules were run, those for shrinking included.</summary>
    public required long Schedules { get; init; }

    /// <summary>The most points that a schedule had.</summary>
    public required int Points { get; init; }

    /// <summary>The most choices between threads that a schedule had.</summary>
    public required int Choices { get; init; }

    /// <summary>Whether every schedule up to the bound was run.</summary>
    public required bool IsExhausted { get; init; }

    /// <summary>Whether schedules were left that came to a state of another one: <see cref="ExploreOptions.Reduction"/>.</summary>
    public required bool IsReduced { get; init; }

    /// <summary>Up to how many preemptions every schedule was run; null if that was not begun, not ended, or the strategy is a random one.</summary>
    public required int? ExhaustedPreemptions { get; init; }

    /// <summary>How long the search took.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>What was found; null if nothing was.</summary>
    public ExploreFailure? Failure { get; init; }

    /// <summary>One line: whether it is exhausted, or how many schedules there were.</summary>
    /// <returns>The line.</returns>
    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{(Failure is not null ? "failed" : IsExhausted ? "exhausted" : "not exhausted")}: {Schedules} schedules of at most {Points} points and " +
        $"{Choices} choices" +
        $"{(ExhaustedPreemptions is { } preemptions ? $", all{(IsReduced ? " but equal ones" : "")} with up to {preemptions} preemptions" : "")}, " +
        $"{Elapsed.TotalSeconds:0.00} s");
}
