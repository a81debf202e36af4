using System.Diagnostics;

namespace Weir.Dataflow.Tests.Probes;

/// <summary>The rounds of a test that tries a race many times: fewer on a machine that is busy.</summary>
public static class Rounds
{
    private static readonly TimeSpan Most = TimeSpan.FromSeconds(10);

    /// <summary>From 0, until there were so many, or the time is up.</summary>
    public static IEnumerable<int> UpTo(int count)
    {
        long began = Stopwatch.GetTimestamp();
        for (int round = 0; round < count && (round == 0 || Stopwatch.GetElapsedTime(began) < Most); round++)
        {
            yield return round;
        }
    }
}
