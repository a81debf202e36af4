namespace Weir.Lab.Resources;

/// <summary>Work that always takes the same time on an undisturbed machine. Variations of its time show what else the machine does.</summary>
/// <remarks>It also shows changes of the processor's frequency and neighbours on the same hardware, for which there may be no counter.</remarks>
internal static class Canary
{
    /// <summary>Above this variation, other programs were running: idle machines show 1 to 2 %.</summary>
    public const double QuietVariation = 0.05;

    private const int CalibrationSteps = 200_000;
    private static readonly TimeSpan Hiccup = TimeSpan.FromMilliseconds(1);

    /// <summary>Steps per second without disturbance. Found once per process, so that all readings are of the same work.</summary>
    public static double StepsPerSecond { get; } = Calibrate();

    /// <summary>Runs the work a number of times.</summary>
    /// <param name="pieces">How many pieces. At least 2.</param>
    /// <param name="piece">How long one takes on an undisturbed machine. More than zero; the default is 1 ms.</param>
    /// <returns>How long the pieces took, and how much that varied.</returns>
    public static CanaryReading Read(int pieces, TimeSpan? piece = null)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(pieces, 2);
        TimeSpan length = piece ?? TimeSpan.FromMilliseconds(1);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(length, TimeSpan.Zero, nameof(piece));
        long steps = Math.Max(1, (long)(StepsPerSecond * length.TotalSeconds));
        double[] times = new double[pieces];
        ulong state = 1;
        for (int i = 0; i < pieces; i++)
        {
            long start = Stopwatch.GetTimestamp();
            state = Shift(state, steps);
            times[i] = Clock.Nanoseconds(start, Stopwatch.GetTimestamp());
        }

        GC.KeepAlive(state);
        return Of(times, length);
    }

    internal static CanaryReading Of(double[] nanoseconds, TimeSpan piece)
    {
        double mean = nanoseconds.Average();
        double deviation = Math.Sqrt(nanoseconds.Sum(t => (t - mean) * (t - mean)) / (nanoseconds.Length - 1));
        return new CanaryReading(
            mean / piece.TotalNanoseconds,
            deviation / mean,
            nanoseconds.Count(t => t - piece.TotalNanoseconds > Hiccup.TotalNanoseconds));
    }

    private static double Calibrate()
    {
        ulong state = 1;
        double best = 0;
        for (int i = 0; i < 50; i++)
        {
            long start = Stopwatch.GetTimestamp();
            state = Shift(state, CalibrationSteps);
            best = Math.Max(best, CalibrationSteps * 1e9 / Math.Max(1, Clock.Nanoseconds(start, Stopwatch.GetTimestamp())));
        }

        return state == 0 ? best + 1 : best;
    }

    // Optimized from the first call on: a loop that is replaced while it runs would look like a disturbance.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static ulong Shift(ulong state, long steps)
    {
        for (long i = 0; i < steps; i++)
        {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }

        return state;
    }
}

/// <summary>What the canary found.</summary>
/// <param name="Slowness">How long a piece took on average, as a multiple of its time on an undisturbed machine.</param>
/// <param name="Variation">The standard deviation of the pieces' times as a share of their mean.</param>
/// <param name="Hiccups">How many pieces took more than a millisecond longer than they should.</param>
internal readonly record struct CanaryReading(double Slowness, double Variation, int Hiccups)
{
    /// <summary>Whether no other program was running.</summary>
    public bool IsQuiet => Variation <= Canary.QuietVariation;
}
