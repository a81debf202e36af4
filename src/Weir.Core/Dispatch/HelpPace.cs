using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>How often a run's workers ask for another worker: less often while those that come find nothing to read.</summary>
/// <remarks>
/// Workers read and write it without a lock. Two that ask at the same moment call two helpers; one of them may find nothing, leaves, and makes the pause
/// longer. No worker is ever missing for good, because each asks again after its next items.
/// </remarks>
internal struct HelpPace()
{
    /// <summary>Waking another thread costs some microseconds on each side, so it is only worth it for work that lasts longer than this.</summary>
    public static readonly long WakeUpThreshold = Stopwatch.Frequency / 50_000;

    private static readonly long LongestPause = Stopwatch.Frequency / 1_000;

    private long _next;
    private long _pause = WakeUpThreshold;

    /// <summary>Whether the pause since the last time is over.</summary>
    public readonly bool MayAsk(long now) => now >= Volatile.Read(in _next);

    public void Asked(long now) => Volatile.Write(ref _next, now + Volatile.Read(ref _pause));

    /// <summary>A helper found the source busy and left without an item, or got one. The next one then comes later, or soon.</summary>
    public void Record(bool useful)
    {
        long pause = useful ? WakeUpThreshold : Math.Min(LongestPause, _pause * 2);
        if (pause != _pause)
        {
            Volatile.Write(ref _pause, pause);
        }
    }
}
