using Weir.Lab.Resources;

namespace Weir.Lab.Trials;

/// <summary>One measured window of one arm: passes, repeated until it lasted long enough.</summary>
internal sealed record Window
{
    /// <summary>The round, from 1. Windows of one round were measured one right after the other.</summary>
    public required int Round { get; init; }

    /// <summary>How many passes were completed.</summary>
    public required long Passes { get; init; }

    /// <summary>How many items were accounted for.</summary>
    public required long Items { get; init; }

    /// <summary>How many of them failed, as they were meant to.</summary>
    public required long Failed { get; init; }

    /// <summary>How many of them ran out of time.</summary>
    public required long TimedOut { get; init; }

    /// <summary>How long the window lasted.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>What the process used meanwhile.</summary>
    public required ResourceUse Resources { get; init; }

    /// <summary>Whether the run was stopped in this window: it is shorter than asked for, and its last pass may be neither complete nor verified.</summary>
    public bool IsPartial { get; init; }

    /// <summary>What became of the items that went through a queue; <see langword="null"/> where there is none.</summary>
    public DeliveryTally? Delivery { get; init; }

    /// <summary>Items per second.</summary>
    public double Rate => Items / Math.Max(Elapsed.TotalSeconds, 1e-9);
}
