namespace Weir.Cli.Kit.Progress;

/// <summary>How much longer a number of steps takes about, if those to come take as long as those so far. It counts from its creation.</summary>
internal sealed class RemainingTime(TimeProvider clock, int steps)
{
    private const int FewSeconds = 100;

    private readonly long _start = clock.GetTimestamp();

    /// <summary>The time that is left after some steps, as the end of a line; nothing when there is none left.</summary>
    public string After(int done)
    {
        if (done < 1 || done >= steps)
        {
            return "";
        }

        TimeSpan left = clock.GetElapsedTime(_start) / done * (steps - done);
        return $", about {TextOf(left)} left";
    }

    // It is no more exact than that.
    private static string TextOf(TimeSpan time) => time.TotalSeconds <= FewSeconds
        ? $"{Numbers.Grouped(Math.Ceiling(time.TotalSeconds))} s"
        : time.TotalMinutes <= FewSeconds ? $"{Numbers.Grouped(Math.Round(time.TotalMinutes))} min" : FormattableString.Invariant($"{time.TotalHours:0.0} h");
}
