namespace Weir.Lab.Work;

/// <summary>
/// Processor work of a given length, measured in steps and not by the clock: each call does exactly the same work, however often its thread is interrupted, so
/// that all arms do equal work.
/// </summary>
/// <remarks>
/// A step is one round of a linear congruential generator, of which none can be skipped or overlapped by the processor. Many rounds
/// together are one multiplication and one addition with known factors, so that <see cref="Expect"/> verifies a result without the work.
/// </remarks>
internal sealed class CalibratedSpin
{
    private const ulong Factor = 6364136223846793005;
    private const ulong Increment = 1442695040888963407;

    private readonly ulong _factor;
    private readonly ulong _increment;

    /// <summary>Creates work of a number of steps.</summary>
    /// <param name="steps">How many steps a call does. Zero or more.</param>
    public CalibratedSpin(long steps)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(steps);
        Steps = steps;
        (_factor, _increment) = Power(steps);
    }

    /// <summary>How many steps a call does.</summary>
    public long Steps { get; }

    /// <summary>Creates work of a length.</summary>
    /// <param name="length">How long a call is to take on an undisturbed processor.</param>
    /// <param name="stepsPerSecond">The speed, as <see cref="MeasureStepsPerSecond"/> found it.</param>
    /// <returns>The work, of at least one step.</returns>
    public static CalibratedSpin Of(TimeSpan length, double stepsPerSecond) =>
        new(Math.Max(1, (long)Math.Round(length.TotalSeconds * stepsPerSecond)));

    /// <summary>
    /// Measures how many steps this machine does in a second: the fastest of many short runs, because whatever disturbs a run makes it slower.
    /// </summary>
    /// <returns>Steps per second. It takes about 50 ms, and longer on a machine that is busy.</returns>
    public static double MeasureStepsPerSecond()
    {
        const int steps = 500_000;
        const int fewest = 10;
        int runs = 0;
        double best = 0;
        ulong seed = 1;
        long begin = Stopwatch.GetTimestamp();
        do
        {
            long start = Stopwatch.GetTimestamp();
            seed = Spin(seed, steps);
            best = Math.Max(best, steps / Math.Max(Stopwatch.GetElapsedTime(start).TotalSeconds, 1e-9));
        }
        while (++runs < fewest || Stopwatch.GetElapsedTime(begin) < TimeSpan.FromMilliseconds(50));

        // The seed is used, so that the work cannot be left out.
        return seed == 0 ? best + 1 : best;
    }

    /// <summary>Does some steps of work, of which there are others for each call.</summary>
    /// <param name="seed">The start, from which the result follows.</param>
    /// <param name="steps">How many steps.</param>
    /// <returns>A number from 0 to <see cref="int.MaxValue"/>.</returns>
    public static int Run(int seed, long steps) => (int)(Spin((uint)seed, steps) >> 33);

    /// <summary>Does the work.</summary>
    /// <param name="seed">The start, from which the result follows.</param>
    /// <returns>A number from 0 to <see cref="int.MaxValue"/>.</returns>
    public int Run(int seed) => Run(seed, Steps);

    /// <summary>The result of <see cref="Run(int)"/>, without the work.</summary>
    public int Expect(int seed) => (int)(((((uint)seed) * _factor) + _increment) >> 33);

    // Optimized from the first call on: a loop that is replaced while it runs would make the calibration wrong.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static ulong Spin(ulong value, long steps)
    {
        for (long i = 0; i < steps; i++)
        {
            value = unchecked((value * Factor) + Increment);
        }

        return value;
    }

    // n steps x -> ax + c in one, by repeated squaring.
    private static (ulong Factor, ulong Increment) Power(long steps)
    {
        ulong factor = 1;
        ulong increment = 0;
        ulong squareFactor = Factor;
        ulong squareIncrement = Increment;
        unchecked
        {
            for (long left = steps; left > 0; left >>= 1)
            {
                if ((left & 1) == 1)
                {
                    factor *= squareFactor;
                    increment = (increment * squareFactor) + squareIncrement;
                }

                squareIncrement *= squareFactor + 1;
                squareFactor *= squareFactor;
            }
        }

        return (factor, increment);
    }
}

/// <summary>
/// How fast the processor does the steps of <see cref="CalibratedSpin"/>, measured once for a process and all its children, so that all of them do the same
/// number of steps.
/// </summary>
internal static class SpinSpeed
{
    /// <summary>Carries it to the children.</summary>
    public const string EnvironmentName = "WEIR_SPINS_PER_MICROSECOND";

    private static readonly Lazy<int> Measured = new(static () =>
        int.TryParse(Environment.GetEnvironmentVariable(EnvironmentName), NumberStyles.None, CultureInfo.InvariantCulture, out int given) && given > 0
            ? given
            : Math.Max(1, (int)(CalibratedSpin.MeasureStepsPerSecond() / 1e6)));

    /// <summary>How many steps take about a microsecond on this machine, or what the environment says.</summary>
    public static int PerMicrosecond => Measured.Value;

    /// <summary>Measures once for this process and all its children.</summary>
    public static void Publish() => Environment.SetEnvironmentVariable(EnvironmentName, PerMicrosecond.ToString(CultureInfo.InvariantCulture));
}
