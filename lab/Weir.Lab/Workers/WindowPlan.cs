namespace Weir.Lab.Workers;

/// <summary>What one window is to be.</summary>
/// <param name="Round">The number of the round, from 1; 0 for the warm-up.</param>
/// <param name="Duration">How long it is measured.</param>
/// <param name="Batches">Of each group, how many operations go between two looks at the clock.</param>
internal sealed record WindowPlan(int Round, TimeSpan Duration, IReadOnlyDictionary<string, int> Batches)
{
    /// <summary>The whole operations that it is of, instead of a time.</summary>
    public WholeOperations? Whole { get; init; }

    /// <summary>
    /// How many operations go between two looks at the clock, where that is the same all the time; 1 where it is not, so with several groups and in whole
    /// operations.
    /// </summary>
    public int Batch => Whole is null && Batches.Count == 1 ? Batches.Values.Single() : 1;

    /// <summary>
    /// Whether nothing but the calls of the lab itself matters in it. Then threads of workers that have done a batch wait for its end: on few processors they
    /// would keep the compiler and the window's own thread waiting for milliseconds.
    /// </summary>
    public bool IsPractice { get; init; }

    /// <summary>Whether what happens within the window is written down.</summary>
    public bool HasTimeline { get; init; } = true;

    /// <summary>What times a window of whole operations.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>
    /// When a window of whole operations is given up, and the clock that tells so; <see langword="null"/> for never. The system's own would not do for both:
    /// what is timed is not what is waited for.
    /// </summary>
    public (TimeSpan Limit, TimeProvider Clock)? Patience { get; init; }

    /// <summary>
    /// After what time in which no operation ended a window of whole operations says that it waits, and after what time it is given up;
    /// <see langword="null"/> for never.
    /// </summary>
    public (TimeSpan Said, TimeSpan GivenUp)? Stall { get; init; }

    /// <summary>The same for one worker and whole operations.</summary>
    public static WindowPlan OfOne(int round, int batch, WholeOperations whole) =>
        new(round, TimeSpan.Zero, new Dictionary<string, int> { [WorkerRunSpec.DefaultGroup] = batch }) { Whole = whole, HasTimeline = false };
}
