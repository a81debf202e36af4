namespace Weir.Core.Sinks;

/// <summary>What a run leaves behind at its end.</summary>
/// <param name="Cancelled">The caller's token if the caller cancelled the run; otherwise null.</param>
/// <param name="Failures">The failures that count under the run's error mode, or null if there were none.</param>
/// <param name="Claimed">How many items were read from the source.</param>
/// <param name="LeftOver">Index ranges, in order, of items that were read and never ran.</param>
internal readonly record struct RunEnd(
    CancellationToken? Cancelled,
    FailureLog? Failures,
    long Claimed,
    IEnumerable<(long First, int Count)> LeftOver)
{
    /// <summary>The end of a run that could not be completed properly, usually for lack of memory. Code that waits for the run gets the exception.</summary>
    public static RunEnd Broken(Exception error)
    {
        FailureLog log = new(ErrorMode.FailFast);
        log.AddSource(error);
        return new RunEnd(null, log, 0, []);
    }
}
