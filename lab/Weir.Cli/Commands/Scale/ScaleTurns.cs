using Weir.Cli.Formatting;
using Weir.Cli.Hosting;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Results;
using Weir.Lab.Trials;

namespace Weir.Cli.Commands.Scale;

/// <summary>Measures a workload with several numbers of workers in turns. Each number has some processes that stay, so that the rounds also differ as processes do.</summary>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="rounds">How many rounds each number of workers makes.</param>
/// <param name="fits">Whether a law is to be fitted, without which there is no reason to end early.</param>
/// <param name="progress">Hears of each round.</param>
internal sealed class ScaleTurns(CliHost host, int rounds, bool fits, RunProgress progress)
{
    private const int MostProcesses = 3;

    // One round may be a chance.
    private const int LeastTurns = 2;

    /// <summary>Measures.</summary>
    /// <param name="orders">The numbers of workers.</param>
    /// <returns>The rounds of each, and what has to be known about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(IReadOnlyList<WorkerOrder> orders)
    {
        int processes = Math.Min(rounds, MostProcesses);
        TurnSessions sessions = new(host, orders, processes, orders.Count * rounds, progress);
        await sessions.WarmUpAsync().ConfigureAwait(false);
        string? peak = await TakeTurnsAsync(sessions, orders, processes).ConfigureAwait(false);
        (IReadOnlyList<IReadOnlyList<RoundRecord>> measured, IReadOnlyList<Finding> findings) = await sessions.EndAsync().ConfigureAwait(false);
        return (measured, peak is null ? findings : [new Finding(FindingLevel.Doubt, peak), .. findings]);
    }

    /// <summary>Why no law can be fitted, whatever is still measured; <see langword="null"/> when nothing speaks against it yet.</summary>
    /// <param name="rates">The numbers of workers with the rates of their rounds.</param>
    internal static string? PeakAtFewest(IReadOnlyList<(int Workers, IReadOnlyList<double> Rates)> rates)
    {
        (int workers, IReadOnlyList<double> fewest) = rates.MinBy(static r => r.Workers);
        double[] others = [.. rates.Where(r => r.Workers != workers).SelectMany(static r => r.Rates)];
        return others.Length > 0 && fewest.Count >= LeastTurns && fewest.Min() > others.Max()
            ? $"Every round with {workers} {(workers == 1 ? "worker" : "workers")} was faster than any with more (at least {Numbers.Rate(fewest.Min())} against at most {Numbers.Rate(others.Max())} operations/s): the rate only falls, "
                + $"and a law of scaling has no way up to be fitted to. It was ended after {fewest.Count} rounds each; --fit none measures them all."
            : null;
    }

    private async Task<string?> TakeTurnsAsync(TurnSessions sessions, IReadOnlyList<WorkerOrder> orders, int processes)
    {
        List<double>[] rates = [.. orders.Select(static _ => new List<double>())];
        for (int turn = 0; turn < rounds; turn++)
        {
            foreach (int arm in TrialOrder.Of(orders.Count, turn))
            {
                if (await sessions.RoundAsync(arm, turn % processes, turn).ConfigureAwait(false) is not { Rate: { } rate })
                {
                    return null;
                }

                rates[arm].Add(rate);
            }

            if (fits && turn + 1 < rounds && PeakAtFewest([.. orders.Select((o, i) => (o.Workers, (IReadOnlyList<double>)rates[i]))]) is { } peak)
            {
                return peak;
            }
        }

        return null;
    }
}
