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
    public abstract void Ended(string outcome, long succeeded, long failed, long cancelled, long retries, TimeSpan elapsed, Exception? error);

    /// <summary>An item waits for its next attempt.</summary>
    public abstract void Retrying(long index, int attempt, TimeSpan delay, Exception error);

    /// <summary>From when on a wait is long; <see cref="Timeout.InfiniteTimeSpan"/> if nobody wants to know of waits.</summary>
    public abstract TimeSpan LongWait { get; }

    /// <summary>An item has waited long at a limit that it shares with others, and goes on.</summary>
    /// <param name="limit">Which kind of limit.</param>
    /// <param name="elapsed">How long.</param>
    public abstract void WaitedLong(string limit, TimeSpan elapsed);

    /// <summary>Items wait, and at least one of them has waited long.</summary>
    /// <param name="limit">What they wait for.</param>
    /// <param name="waiting">How many wait for it, long or not.</param>
    /// <param name="longest">How long the first of them has waited.</param>
    public abstract void StillWaiting(string limit, int waiting, TimeSpan longest);

    /// <summary>An item has failed for good.</summary>
    public abstract void ItemFailed(long index, bool timedOut, Exception? error);
}
