namespace Weir.Lab.Work;

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
