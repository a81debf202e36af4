using System.Diagnostics.Metrics;
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

    /// <summary>The part of <see cref="Delayed"/> that waits for a place of a shared concurrency limit.</summary>
    public int WaitingForPlace { get; set; }

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

/// <summary>Histograms of durations, in seconds, with the advice that all of the library's have.</summary>
internal static class Durations
{
#if NET9_0_OR_GREATER
    // From a microsecond to five minutes, three a decade: the platform's own buckets begin at 5 ms.
    private static readonly InstrumentAdvice<double> Buckets = new()
    {
        HistogramBucketBoundaries =
        [
            1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300,
        ],
    };
#endif

    public static Histogram<double> Create(Meter meter, string name, string description) =>
#if NET9_0_OR_GREATER
        meter.CreateHistogram(name, "s", description, advice: Buckets);
#else
        meter.CreateHistogram<double>(name, "s", description);
#endif
}

/// <summary>
/// Makes calls that may run observers' code: listeners to spans and instruments, and handlers for changes of the current span. Their exceptions are discarded,
/// because observing a run must not change its result.
/// </summary>
internal static class SafeCall
{
    public static void Invoke<TState>(Action<TState> call, TState state)
    {
        try
        {
            call(state);
        }
        catch (Exception)
        {
            // See above.
        }
    }

    /// <summary>What a call returns, such as an instrument, which each listener is told of; null if it threw.</summary>
    public static TResult? Try<TResult>(Func<TResult?> call)
        where TResult : class =>
        Invoke(static call => call(), call);

    public static TResult? Invoke<TState, TResult>(Func<TState, TResult?> call, TState state)
        where TResult : class
    {
        try
        {
            return call(state);
        }
        catch (Exception)
        {
            // See above.
            return null;
        }
    }
}

/// <summary>What an item waits for without being inside its call.</summary>
internal enum WaitKind : byte
{
    /// <summary>The delay before its next attempt.</summary>
    Retry,

    /// <summary>An open circuit.</summary>
    CircuitBreaker,

    /// <summary>A place of a shared concurrency limit.</summary>
    ConcurrencyLimit,

    /// <summary>A rate limit.</summary>
    RateLimit,
}

/// <summary>The names that all parts of the library use for listeners.</summary>
internal static class DiagnosticNames
{
    /// <summary>The name of the meter and of the activity source.</summary>
    public const string Library = "Weir";

    /// <summary>The assembly without which nobody in the process can listen.</summary>
    public const string ListenersAssembly = "System.Diagnostics.DiagnosticSource";

    public const string Outcome = "weir.outcome";

    public const string ErrorType = "error.type";
}
