using System.Runtime.InteropServices;

namespace Weir.Core.Metering;

/// <summary>Counts of one run at one moment, summed over its workers. Each count only grows; the sum is not atomic over the workers.</summary>
[StructLayout(LayoutKind.Auto)]
internal record struct RunSample
{
    /// <summary>Items whose call returned a result.</summary>
    public long Succeeded { get; set; }

    /// <summary>Items that ended without a result: failed, timed out or cancelled.</summary>
    public long Unsuccessful { get; set; }

    /// <summary>The unsuccessful items that were cancelled because the run was stopped.</summary>
    public long Cancelled { get; set; }

    /// <summary>The unsuccessful items that passed a time limit of the run.</summary>
    public long TimedOut { get; set; }

    /// <summary>Items claimed from the source and not yet ended.</summary>
    public int InFlight { get; set; }

    /// <summary>Items read from the source, whatever their outcome.</summary>
    public long Claimed { get; set; }

    /// <summary>Items that the source is known to have and that were not read: the rest of a list, or what a queue of work has.</summary>
    public long Unread { get; set; }

    /// <summary>Items that have begun. Only counted in a run with a control.</summary>
    public long Begun { get; set; }

    /// <summary>Items that wait for their next attempt, in addition to those in flight.</summary>
    public int Delayed { get; set; }

    /// <summary>The part of <see cref="Delayed"/> that waits for a circuit.</summary>
    public int WaitingForCircuit { get; set; }

    /// <summary>The part of <see cref="Delayed"/> that waits for a permit of a shared concurrency limit.</summary>
    public int WaitingForPermit { get; set; }

    /// <summary>The part of <see cref="Delayed"/> that waits at a rate limit.</summary>
    public int WaitingForRate { get; set; }

    /// <summary>The part of <see cref="InFlight"/> that waits at a rate limit.</summary>
    public int AtRateLimit { get; set; }

    /// <summary>The circuit breakers of the run that are closed.</summary>
    public int CircuitsClosed { get; set; }

    /// <summary>The circuit breakers of the run that are open.</summary>
    public int CircuitsOpen { get; set; }

    /// <summary>The circuit breakers of the run that are half-open.</summary>
    public int CircuitsHalfOpen { get; set; }

    /// <summary>Items that failed or timed out.</summary>
    public readonly long Failed => Math.Max(0, Unsuccessful - Cancelled);

    /// <summary>Items inside their call.</summary>
    public readonly int Active => Math.Max(0, InFlight - AtRateLimit);

    /// <summary>Results of a stream that its consumer has not taken.</summary>
    public long Undelivered { get; set; }

    /// <summary>Attempts after an item's first one.</summary>
    public long Retries { get; set; }

    /// <summary>How often reading has paused for the consumer.</summary>
    public long Throttles { get; set; }

    /// <summary>How often reading resumed after a pause.</summary>
    public long Drains { get; set; }

    /// <summary>How many items may be in flight.</summary>
    public int Limit { get; set; }

    /// <summary>Workers given up because their item passed its time limit.</summary>
    public long Abandoned { get; set; }
}

/// <summary>What an item waits for without being inside its call.</summary>
internal enum WaitKind : byte
{
    /// <summary>The delay before its next attempt.</summary>
    Retry,

    /// <summary>An open circuit.</summary>
    CircuitBreaker,

    /// <summary>A permit of a shared concurrency limit.</summary>
    ConcurrencyLimit,

    /// <summary>A rate limit.</summary>
    RateLimit,
}

/// <summary>Who is told of the waits of one run, when they begin and when they end. The methods are called by workers, and must not throw.</summary>
internal abstract class WaitListener
{
    /// <summary>An item begins to wait. Told before anything can end the wait.</summary>
    /// <param name="kind">What it waits for.</param>
    /// <param name="since">Since when, as a timestamp of the run's clock. Earlier than now if the item waits again without having made a call.</param>
    public abstract void Began(WaitKind kind, long since);

    /// <summary>The item goes on. Not told of waits that the end of the run has ended.</summary>
    /// <param name="kind">What it waited for.</param>
    /// <param name="since">What <see cref="Began"/> was told.</param>
    public abstract void Ended(WaitKind kind, long since);
}
