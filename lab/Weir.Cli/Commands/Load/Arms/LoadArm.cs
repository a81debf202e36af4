namespace Weir.Cli.Commands.Load.Arms;

/// <summary>An arm of a run.</summary>
/// <param name="Arm">What is measured.</param>
/// <param name="Choice">The runtime; <see langword="null"/> for a peer.</param>
internal sealed record LoadArm(TrialArm Arm, RuntimeChoice? Choice)
{
    /// <summary>What is shown of it while it runs; <see langword="null"/> when nothing is.</summary>
    public WatchedArm? Watched { get; init; }

    /// <summary>The decisions of the runtime; empty for a runtime that makes none.</summary>
    public Func<IReadOnlyList<DecisionRecord>> Decisions { get; init; } = static () => [];
}
