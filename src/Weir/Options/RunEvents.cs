using Weir.Core.Metering;

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

    /// <summary>An item has waited outside its call, and goes on.</summary>
    public void Waited(WaitKind kind, TimeSpan elapsed)
    {
        // Retries and circuits are told by what they are.
        if (kind is WaitKind.ConcurrencyLimit or WaitKind.RateLimit)
        {
            WaitedAtLimit(kind == WaitKind.RateLimit ? "rate_limit" : "concurrency_limit", elapsed);
        }
    }

    /// <summary>An item has waited at a limit that it shares with others, and goes on.</summary>
    public abstract void WaitedAtLimit(string limit, TimeSpan elapsed);

    /// <summary>An item has failed for good.</summary>
    public abstract void ItemFailed(long index, bool timedOut, Exception? error);
}
