using System.Diagnostics;
using Weir.Cli.Hosting;
using Weir.Cli.Kit.Progress;
using Weir.Cli.Processes;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Workloads;

namespace Weir.Cli.Commands.Compare;

/// <summary>
/// Measures two or more workloads in many short rounds. The processes stay alive and take turns (A B B A, and in the next pair B A A B; of three A B C C B A)
/// until every comparison with the first is decided.
/// </summary>
internal sealed class Turns(WeirHost host, TurnPlan plan, ComparisonOptions options, RunProgress progress)
{
    private readonly List<(int Side, TurnRound Round)> _rounds = [];
    private readonly SequentialLooks _looks = new();
    private int _sides;

    /// <summary>The number of looks: checks whether the comparison is decided.</summary>
    public int Looks { get; private set; }

    /// <summary>The share of alpha of the last look.</summary>
    public double Share { get; private set; } = 1;

    /// <summary>Measures.</summary>
    /// <param name="orders">The baseline and the candidates.</param>
    /// <param name="began">When the command began.</param>
    /// <returns>The rounds of both in the order in which they were made, and the findings about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(
        IReadOnlyList<WorkerOrder> orders, long began)
    {
        _sides = orders.Count;
        TurnSessions sessions = new(host, orders, plan.Pairs, plan.AllRounds / 2 * orders.Count, progress);
        await sessions.WarmUpAsync().ConfigureAwait(false);
        await TakeTurnsAsync(sessions, began).ConfigureAwait(false);
        return await sessions.EndAsync().ConfigureAwait(false);
    }

    private async Task TakeTurnsAsync(TurnSessions sessions, long began)
    {
        TimeSpan limit = plan.Within - Stopwatch.GetElapsedTime(began);
        long start = Stopwatch.GetTimestamp();
        TimeSpan longest = TimeSpan.Zero;
        for (int turn = 0; turn < plan.Turns; turn++)
        {
            for (int pair = 0; pair < plan.Pairs && (turn * plan.Pairs) + pair < plan.PairTurns; pair++)
            {
                // At least two pairs: one pair proves nothing.
                if ((turn > 0 || pair > 1) && Stopwatch.GetElapsedTime(start) + longest > limit)
                {
                    Decide(isLast: true);
                    return;
                }

                long from = Stopwatch.GetTimestamp();
                if (!await TurnAsync(sessions, turn, pair).ConfigureAwait(false))
                {
                    return;
                }

                longest = TimeSpan.FromTicks(Math.Max(longest.Ticks, Stopwatch.GetElapsedTime(from).Ticks));
            }

            bool isLast = turn == plan.Turns - 1;
            if ((isLast || _looks.IsDue(Math.Max((turn + 1.0) / plan.Turns, Stopwatch.GetElapsedTime(start) / limit))) && Decide(isLast))
            {
                return;
            }
        }
    }

    // There and back, and in every other pair the other way round.
    private async Task<bool> TurnAsync(TurnSessions sessions, int turn, int pair)
    {
        int[] sides = [.. Enumerable.Range(0, _sides)];
        int[] there = (turn + pair) % 2 == 0 ? sides : [.. sides.Reverse()];
        foreach (int side in there.Concat(there.Reverse()))
        {
            if (await sessions.RoundAsync(side, pair, turn).ConfigureAwait(false) is not { Rate: { } rate } round)
            {
                return false;
            }

            // Rounds that do not count must not decide when to end.
            if (!round.IsDisturbed)
            {
                _rounds.Add((side, new TurnRound(pair, turn, side > 0, rate, round.Room)));
            }
        }

        return true;
    }

    private bool Decide(bool isLast)
    {
        Looks++;
        Share = _looks.Take(isLast);
        return Enumerable.Range(1, _sides - 1).All(side =>
            TurnsComparison.Of([.. _rounds.Where(r => r.Side == 0 || r.Side == side).Select(static r => r.Round)], options, Share).Comparison.Verdict
                != Verdict.Inconclusive);
    }
}
