using Weir.Core.Sources;

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
    // Fields, like the engine's other inner data.
    public readonly CancellationToken? Cancelled = Cancelled;
    public readonly FailureLog? Failures = Failures;
    public readonly long Claimed = Claimed;
    public readonly IEnumerable<(long First, int Count)> LeftOver = LeftOver;

    /// <summary>
    /// What the caller gets. It is decided here and nowhere else: a cancellation by the caller comes first, then the one exception that is thrown as it is,
    /// then all those that were collected.
    /// </summary>
    public RunResult Result =>
        Cancelled is not null ? RunResult.Cancelled
        : Failures is null ? RunResult.Completed
        : Failures.Single is not null ? RunResult.Failed
        : Failures.HasCollected ? RunResult.FailedInPart
        : RunResult.Completed;

    /// <summary>Whether the caller gets the results, alone or with the failures of the other items.</summary>
    public bool HasResults => Result is RunResult.Completed or RunResult.FailedInPart;

    /// <summary>The exception of a run that failed, for reports: the one that is thrown, or the first of those that were collected.</summary>
    public Exception? FirstError => Result switch
    {
        RunResult.Failed => Failures!.Single,
        RunResult.FailedInPart => Failures!.Collected![0].Error,
        _ => null,
    };

    /// <summary>Whether items never ran.</summary>
    /// <param name="count">The number of items; negative for those that were read.</param>
    public bool HasNeverRun(int count) => Claimed < count || LeftOver != Source.NothingLeft;

    /// <summary>The indices of the items that never ran: first those that were read, each of the two in order.</summary>
    /// <inheritdoc cref="HasNeverRun"/>
    public IEnumerable<long> NeverRun(int count)
    {
        foreach ((long first, int length) in LeftOver)
        {
            for (long index = first; index < first + length; index++)
            {
                yield return index;
            }
        }

        for (long index = Claimed; index < count; index++)
        {
            yield return index;
        }
    }

    /// <summary>The end of a run that could not be completed properly, usually for lack of memory. Code that waits for the run gets the exception.</summary>
    public static RunEnd Broken(Exception error)
    {
        FailureLog log = new(ErrorMode.FailFast);
        log.AddSource(error);
        return new RunEnd(null, log, 0, []);
    }
}
