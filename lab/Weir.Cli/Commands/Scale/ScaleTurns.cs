namespace Weir.Cli.Commands.Scale;

/// <summary>Decides when measuring more numbers of workers would not help.</summary>
internal static class ScaleTurns
{
    /// <summary>How many processes a number of workers has.</summary>
    public const int MostProcesses = 3;

    /// <summary>Why no law can be fitted, whatever the remaining rounds show; <see langword="null"/> if a fit is still possible.</summary>
    /// <param name="rates">The numbers of workers with the rates of their rounds.</param>
    internal static string? PeakAtFewest(IReadOnlyList<(int Workers, IReadOnlyList<double> Rates)> rates)
    {
        (int workers, IReadOnlyList<double> fewest) = rates.MinBy(static r => r.Workers);
        double[] others = [.. rates.Where(r => r.Workers != workers).SelectMany(static r => r.Rates)];
        return others.Length > 0 && fewest.Count >= ArmTurns.LeastTurns && fewest.Min() > others.Max()
            ? $"Every round with {workers} {(workers == 1 ? "worker" : "workers")} was faster than any with more (at least {Numbers.Rate(fewest.Min())} "
                + $"against at most {Numbers.Rate(others.Max())} operations/s): the rate only falls, "
                + $"so there is no rise to fit a scaling law to. The run ended after {fewest.Count} rounds each; --fit none measures all of them."
            : null;
    }
}
