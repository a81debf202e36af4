namespace Weir.Lab.Workers;

/// <summary>
/// What the worker's loop adds to each operation: the time of an operation that does nothing, of the same shape (synchronous or not, with a result or
/// without), in the same loop and batches, measured in the same run.
/// </summary>
/// <param name="Nanoseconds">
/// Nanoseconds for each operation: the lower quartile of short windows of one worker, because whatever disturbs one makes it longer, and rather too little is
/// subtracted than too much.
/// </param>
/// <param name="Resolution">
/// How much shorter an operation must be than nothing to be told from it: the quartiles' distance of these windows, and a quarter of the overhead at least,
/// because a processor does a part of the loop while the operation is under way.
/// </param>
internal sealed record LoopOverhead(double Nanoseconds, double Resolution)
{
    // A processor overlaps the loop with what it calls, so a difference of less than this part of it says nothing.
    private const double LeastPart = 0.25;

    /// <summary>
    /// Whether the rate is without it. Only where one synchronous worker does one operation after the other, and only where what is left can be told from
    /// nothing. Workers who wait for each other do so while another one's loop goes on: there, without the loop, no more would be done.
    /// </summary>
    public bool IsSubtracted { get; init; }

    internal static LoopOverhead Of(IReadOnlyCollection<double> nanoseconds)
    {
        double[] sorted = [.. nanoseconds.Order()];
        double quartile = sorted[sorted.Length / 4];
        return new LoopOverhead(quartile, Math.Max(sorted[sorted.Length * 3 / 4] - quartile, LeastPart * quartile));
    }

    /// <summary>Whether operations at this rate take so long that the overhead can be subtracted.</summary>
    internal bool CanBeSubtractedFrom(double rate) => rate > 0 && (1e9 / rate) - Nanoseconds >= Resolution;

    /// <summary>The rate of operations alone, of one worker.</summary>
    internal double Without(double rate) => 1e9 / ((1e9 / rate) - Nanoseconds);
}
