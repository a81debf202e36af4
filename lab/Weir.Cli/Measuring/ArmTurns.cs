using Weir.Cli.Hosting;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Results;
using Weir.Lab.Trials;

namespace Weir.Cli.Measuring;

/// <summary>Measures arms in turns. Each has some processes that stay, so that the rounds also differ as processes do.</summary>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="rounds">How many rounds each arm makes.</param>
/// <param name="mostProcesses">How many processes each arm has at most.</param>
/// <param name="progress">Hears of each round.</param>
/// <param name="end">Given the rates of each arm, why it is no use to go on; <see langword="null"/> to go on.</param>
internal sealed class ArmTurns(CliHost host, int rounds, int mostProcesses, RunProgress progress, Func<IReadOnlyList<IReadOnlyList<double>>, string?>? end = null)
{
    /// <summary>Measures.</summary>
    /// <param name="orders">The arms.</param>
    /// <returns>The rounds of each, and what has to be known about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(IReadOnlyList<WorkerOrder> orders)
    {
        int processes = Math.Min(rounds, mostProcesses);
        TurnSessions sessions = new(host, orders, processes, orders.Count * rounds, progress);
        await sessions.WarmUpAsync().ConfigureAwait(false);
        string? ended = await TakeTurnsAsync(sessions, orders.Count, processes).ConfigureAwait(false);
        (IReadOnlyList<IReadOnlyList<RoundRecord>> measured, IReadOnlyList<Finding> findings) = await sessions.EndAsync().ConfigureAwait(false);
        return (measured, ended is null ? findings : [new Finding(FindingLevel.Doubt, ended, FindingKind.Scaling), .. findings]);
    }

    private async Task<string?> TakeTurnsAsync(TurnSessions sessions, int arms, int processes)
    {
        List<double>[] rates = [.. Enumerable.Range(0, arms).Select(static _ => new List<double>())];
        for (int turn = 0; turn < rounds; turn++)
        {
            foreach (int arm in TrialOrder.Of(arms, turn))
            {
                if (await sessions.RoundAsync(arm, turn % processes, turn).ConfigureAwait(false) is not { Rate: { } rate })
                {
                    return null;
                }

                rates[arm].Add(rate);
            }

            if (turn + 1 < rounds && end?.Invoke(rates) is { } why)
            {
                return why;
            }
        }

        return null;
    }
}
