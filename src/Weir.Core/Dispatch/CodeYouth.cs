namespace Weir.Core.Dispatch;

/// <summary>
/// Determines how long a piece of code is young: not yet compiled with what the runtime learns by running it. Until then, two compilations of it take turns:
/// one that is optimized from the first call and one that learns.
/// </summary>
/// <remarks>
/// The runtime does not say what it has compiled. It counts calls, 30 of them twice, each time after a tenth of a second in which nothing new was compiled. So
/// code is no longer young after some time in which it was called often enough. Only speed depends on this, so threads may count inexactly.
/// </remarks>
internal sealed class CodeYouth(TimeProvider time)
{
    /// <summary>How many items run so that the runtime can learn.</summary>
    public const int Lesson = 16;

    /// <summary>How many items at once are worth the code that is optimized at once. Chunks double, so that many items get there soon.</summary>
    public const int Many = 32;

    // One call in this many is for learning.
    private const int Turns = 16;

    // A period is a sixty-fourth of a second. It counts if the code ran for learning this often in it.
    private const int PeriodsPerSecond = 64;
    private const int FewestInPeriod = 8;
    private const int Periods = 40;

    private readonly long _ticks = Math.Max(1, time.TimestampFrequency / PeriodsPerSecond);
    private int _calls;
    private int _lessons;
    private int _grown;
    private long _period;

    /// <summary>Whether the code is no longer young.</summary>
    public bool IsOver;

    /// <summary>Whether this call is for learning. Ask once per call, while the code is young.</summary>
    public bool IsTurnToLearn()
    {
        if (++_calls % Turns != 0)
        {
            return false;
        }

        Learn();
        return true;
    }

    /// <summary>Records a call for learning.</summary>
    public void Learn()
    {
        if (++_lessons >= FewestInPeriod)
        {
            Look(time.GetTimestamp() / _ticks);
        }
    }

    private void Look(long period)
    {
        if (period != _period)
        {
            _period = period;
            _lessons = 0;
            IsOver = ++_grown >= Periods;
        }
    }
}
