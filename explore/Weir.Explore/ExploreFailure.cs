namespace Weir.Explore;

/// <summary>A schedule that fails.</summary>
public sealed record ExploreFailure
{
    /// <summary>What is wrong.</summary>
    public required FailureKind Kind { get; init; }

    /// <summary>What is wrong, in words: the message of the exception, or who waits for what.</summary>
    public required string Message { get; init; }

    /// <summary>The exception, if there is one. Its type is that of the rewritten program.</summary>
    public Exception? Exception { get; init; }

    /// <summary>The steps of the schedule, in order: which thread, file and line, and what it does there.</summary>
    public required IReadOnlyList<string> Steps { get; init; }

    /// <summary>How often a thread that could go on was interrupted.</summary>
    public required int Preemptions { get; init; }

    /// <summary>How many schedules were run until this failure came.</summary>
    public required long FoundAt { get; init; }

    /// <summary>What to set the environment variable <c>WEIR_SCHEDULE</c> to, so that the same test runs this schedule alone.</summary>
    public required string Schedule { get; init; }

    /// <summary>All of it.</summary>
    /// <returns>Several lines.</returns>
    public override string ToString() =>
        $"{Kind} after {FoundAt} schedules, with {Preemptions} preemptions. {Message}\nThe schedule:\n{string.Join('\n', Steps)}\n" +
        $"To run it again: WEIR_SCHEDULE={Schedule}{(Exception is null ? "" : $"\n{Exception}")}";
}
