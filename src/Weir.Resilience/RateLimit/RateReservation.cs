using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>The start time that a <see cref="TokenBucket"/> has set aside for one call.</summary>
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Reservations are handed back, not compared.")]
public readonly struct RateReservation
{
    internal RateReservation(TimeSpan delay, double start, double before, double after)
    {
        Delay = delay;
        Start = start;
        Before = before;
        After = after;
    }

    /// <summary>How long to wait before the call, counted from the reservation, in units of 100 ns; zero to call at once.</summary>
    public TimeSpan Delay { get; }

    /// <summary>When the call may start, in seconds of the bucket's own time.</summary>
    internal double Start { get; }

    /// <summary>The bucket's mark before the reservation.</summary>
    internal double Before { get; }

    /// <summary>The bucket's mark after it.</summary>
    internal double After { get; }
}
