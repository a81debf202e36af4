using Weir.Lab.Suites.Peers.Dataflow;

namespace Weir.Tables.BlocksGrid;

/// <summary>What was measured of a cell.</summary>
/// <param name="Cell">The cell.</param>
/// <param name="Rounds">A sample of the platform's block, one of Weir's and one of channels by hand, for each round.</param>
internal sealed record GridReading(GridCell Cell, IReadOnlyList<GridRound> Rounds)
{
    /// <summary>A cell is slower above this ratio.</summary>
    public const double MostRatio = 1.05;

    /// <summary>A cell is at least twice as fast up to this ratio.</summary>
    public const double Twice = 0.5;

    /// <summary>The goal for the work items of the pool for each message, where messages are dense.</summary>
    public const double MostHops = 0.1;

    /// <summary>Weir's time as a share of the platform's in the same round.</summary>
    public Spread Ratio { get; } = Spread.Of(Rounds.Select(static round => round.Ours.Nanoseconds / round.Theirs.Nanoseconds));

    public GridSample Theirs { get; } = MedianOf(Rounds.Select(static round => round.Theirs));

    public GridSample Ours { get; } = MedianOf(Rounds.Select(static round => round.Ours));

    public GridSample Channels { get; } = MedianOf(Rounds.Select(static round => round.Channels));

    public bool IsSlower => Ratio.Median > MostRatio;

    public bool IsTwiceAsFast => Ratio.Median <= Twice;

    private static GridSample MedianOf(IEnumerable<GridSample> samples) => new(
        TablePage.Median(samples, static sample => sample.Nanoseconds), TablePage.Median(samples, static sample => sample.Hops));
}
