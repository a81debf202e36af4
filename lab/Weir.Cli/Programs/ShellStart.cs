namespace Weir.Cli.Programs;

/// <summary>
/// The time that a shell takes to start and end without doing anything. It is measured between the runs of the programs and subtracted from them.
/// </summary>
internal sealed class ShellStart
{
    private readonly List<ProgramEnd> _ends = [];

    /// <summary>Whether it was measured at all.</summary>
    public bool IsKnown => _ends.Count > 0;

    /// <summary>Runs the shell once.</summary>
    public async Task RunAsync(ProgramRunner runner, IReadOnlyList<string> shell)
    {
        ProgramEnd? end = await runner.RunAsync(shell[0], [.. shell, ""]);
        Add(end is { Code: 0 }
            ? end
            : throw new BadInputException($"The shell '{shell[0]}' of --shell {end?.Text ?? "did not end in time"} when it had nothing to do."));
    }

    /// <summary>Adds a run of it.</summary>
    internal void Add(ProgramEnd end) => _ends.Add(end);

    /// <summary>The lower quartile of a figure: disturbances make a run longer, and subtracting too little is better than subtracting too much.</summary>
    public double Of(Func<ProgramEnd, double> figure) => Quartile(figure, 0.25);

    /// <summary>Whether the remaining time of a run is distinguishable from zero.</summary>
    public bool CanBeTaken(double seconds) =>
        seconds - Of(static e => e.Seconds) >= Math.Max(
            Of(static e => e.Seconds) / 4, Quartile(static e => e.Seconds, 0.75) - Quartile(static e => e.Seconds, 0.25));

    private double Quartile(Func<ProgramEnd, double> figure, double share)
    {
        double[] sorted = [.. _ends.Select(figure).Order()];
        return sorted[(int)((sorted.Length - 1) * share)];
    }
}
