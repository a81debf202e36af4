namespace Weir;

/// <summary>What a run tells a log, besides the metrics and the spans. Each method is called on the thread where it happens, and must not throw.</summary>
internal abstract class RunEvents
{
    /// <summary>The events of one run.</summary>
    /// <param name="options">The run's options, with the caller's own name and tags.</param>
    /// <param name="operation">The name of the operator.</param>
    public abstract RunEvents ForRun(ParallelRunOptions options, string operation);

    /// <summary>The run is about to start.</summary>
    public abstract void Started(int? totalItems);

    /// <summary>The run has ended.</summary>
    public abstract void Ended(string outcome, long succeeded, long failedOrCancelled, long retries, TimeSpan elapsed, Exception? error);

    /// <summary>An item waits for its next attempt.</summary>
    public abstract void Retrying(long index, int attempt, TimeSpan delay, Exception error);

    /// <summary>An item has failed for good.</summary>
    public abstract void ItemFailed(long index, bool timedOut, Exception? error);
}
