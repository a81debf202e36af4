namespace Weir.Lab.Results;

/// <summary>The processes that measured an arm. They are the units of a comparison: rounds of one process share its code, memory and threads.</summary>
internal sealed class ArmProcesses
{
    // Of the processors' time, what others may take before a round says more about them.
    private const double MostTakenByOthers = 0.1;
    private const double MostSteal = 0.01;

    // The share of the processes that may be disturbed. They are left out, by their conditions and never by their rates.
    private const double MostDisturbed = 0.25;

    private readonly ArmRecord _arm;
    private readonly RoundRecord[][] _all;
    private readonly RoundRecord[][] _quiet;

    /// <summary>Finds them.</summary>
    /// <param name="result">The result that the arm is of.</param>
    /// <param name="arm">The arm.</param>
    public ArmProcesses(ResultFile result, ArmRecord arm)
    {
        _arm = arm;
        _all = [.. Of(arm).Select(static p => p.Rounds)];
        _quiet = [.. _all.Where(p => !p.Any(r => IsUnquiet(r, result.Machine.Cores)))];

        // Rounds that take turns have no canary of their own; then the result says what it found before and after.
        bool isKnown = arm.Counted.Any(static r => r.CanarySlowness > 0);
        IsDisturbed = _all.Length - _quiet.Length > MostDisturbed * _all.Length || (!isKnown && result.IsOfAnUnquietMachine);
        Speed = arm.Counted.Select(static r => r.CanarySpeed).OfType<double>().ToArray() is { Length: > 0 } speeds ? Spread.Of(speeds).Median : null;
    }

    /// <summary>Whether other programs had so much of the machine that rates and latencies say little about the arm.</summary>
    public bool IsDisturbed { get; }

    /// <summary>How many processes count.</summary>
    public int Count => _quiet.Length;

    /// <summary>How fast the processor was, in steps of the canary per second; <see langword="null"/> if it is not known.</summary>
    public double? Speed { get; }

    /// <summary>The rate of each process that counts: the geometric mean of its rounds.</summary>
    public double[] Rates() => [.. _quiet.Select(static p => p.Select(static r => r.Rate).Where(static r => r > 0).ToArray())
        .Where(static rates => rates.Length > 0).Select(static rates => Math.Exp(rates.Average(static r => Math.Log(r))))];

    /// <summary>A latency of each process that counts, without the clock; not of those that do not have it.</summary>
    /// <param name="reading">How it is read.</param>
    public double[] Latencies(LatencyReading reading) => [.. _quiet.Select(p => reading.TimeOf(_arm, p)).OfType<double>()];

    /// <summary>The rounds of each process, by its number.</summary>
    public static IEnumerable<(int Number, RoundRecord[] Rounds)> Of(ArmRecord arm) => arm.Counted
        .GroupBy(r => r.Process ?? (arm.IsProgram ? r.Order : 0))
        .OrderBy(static g => g.Key)
        .Select(static g => (g.Key, g.ToArray()));

    private static bool IsUnquiet(RoundRecord round, int cores) =>
        round.CanaryVariation > Canary.QuietVariation || round.Room < 1 - MostTakenByOthers || round.StealSeconds > MostSteal * cores * round.Seconds;
}
