namespace Weir.Lab.Resources;

/// <summary>The resolution of the platform's timers. A shorter delay takes as long as the resolution.</summary>
internal static class TimerTick
{
    /// <summary>Measures what a delay of 1 ms really takes.</summary>
    /// <param name="delays">How many delays, one after the other. At least 1.</param>
    /// <param name="cancellationToken">Cancels the delays.</param>
    public static async Task<TimeSpan> MeasureAsync(int delays = 15, CancellationToken cancellationToken = default)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(delays, 1);
        TimeSpan[] lengths = new TimeSpan[delays];
        for (int i = 0; i < delays; i++)
        {
            long start = Stopwatch.GetTimestamp();
            await Task.Delay(1, cancellationToken).ConfigureAwait(false);
            lengths[i] = Stopwatch.GetElapsedTime(start);
        }

        Array.Sort(lengths);
        return lengths[delays / 2];
    }
}
