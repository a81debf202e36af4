namespace Weir.Core.Dispatch;

/// <summary>
/// Determines when tiered compilation of a piece of code is complete: when it is compiled with the profile that the runtime collects by running it. Until then,
/// two compilations of it take turns: one that is optimized from the first call, and one that collects the profile.
/// </summary>
/// <remarks>
/// The runtime does not say what it has compiled. It counts calls, 30 of them twice, each time after a tenth of a second in which nothing new was compiled. So
/// the code counts as complete after some time in which it was called often enough. Only speed depends on this, so threads may count inexactly.
/// </remarks>
internal sealed class TieringMonitor(TimeProvider time)
{
    /// <summary>How many items run at once in the code that collects the profile.</summary>
    public const int ProfilingItems = 16;

    /// <summary>How many items at once are worth the code that is optimized at once. Chunks double, so that many items get there soon.</summary>
    public const int Many = 32;

    // One call in this many collects the profile.
    private const int CallsPerProfilingCall = 16;

    // A period is a sixty-fourth of a second. It counts if the code collected the profile this often in it.
    private const int PeriodsPerSecond = 64;
    private const int FewestInPeriod = 8;
    private const int Periods = 40;

    private readonly long _ticks = Math.Max(1, time.TimestampFrequency / PeriodsPerSecond);
    private int _calls;
    private int _profilingCalls;
    private int _activePeriods;
    private long _period;

    /// <summary>Whether tiered compilation is complete.</summary>
    public bool IsOver;

    /// <summary>Whether this call collects the profile. Ask once per call, until <see cref="IsOver"/>.</summary>
    public bool IsProfilingCall()
    {
        if (++_calls % CallsPerProfilingCall != 0)
        {
            return false;
        }

        RecordProfilingCall();
        return true;
    }

    /// <summary>Records a call that collects the profile.</summary>
    public void RecordProfilingCall()
    {
        if (++_profilingCalls >= FewestInPeriod)
        {
            CountPeriod(time.GetTimestamp() / _ticks);
        }
    }

    private void CountPeriod(long period)
    {
        if (period != _period)
        {
            _period = period;
            _profilingCalls = 0;
            IsOver = ++_activePeriods >= Periods;
        }
    }
}
