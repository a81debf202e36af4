using Weir.Cli.Processes;

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
        await sessions.WarmUpAsync();
        await TakeTurnsAsync(sessions, began);
        return await sessions.EndAsync();
    }

    // A round is a turn of one pair of processes; each pair has its turn before one has the next.
    private async Task TakeTurnsAsync(TurnSessions sessions, long began)
    {
        TimeSpan limit = plan.Within - Stopwatch.GetElapsedTime(began);
        long start = Stopwatch.GetTimestamp();
        TimeSpan longest = TimeSpan.Zero;
        long from = start;
        await RoundRunner.TakeTurnsAsync(
            _sides, Begins, (side, round) => RoundAsync(sessions, side, round), CancellationToken.None, round => Task.FromResult(!Ends(round)), Order);

        bool Begins(int round)
        {
            if (round >= plan.PairTurns)
            {
                return false;
            }

            // At least two pairs: one pair proves nothing.
            if ((round > 1 || round >= plan.Pairs) && Stopwatch.GetElapsedTime(start) + longest > limit)
            {
                Decide(isLast: true);
                return false;
            }

            from = Stopwatch.GetTimestamp();
            return true;
        }

        bool Ends(int round)
        {
            longest = TimeSpan.FromTicks(Math.Max(longest.Ticks, Stopwatch.GetElapsedTime(from).Ticks));
            int turn = round / plan.Pairs;
            bool isLast = round == plan.PairTurns - 1;
            return (isLast || round % plan.Pairs == plan.Pairs - 1)
                && (isLast || _looks.IsDue(Math.Max((turn + 1.0) / plan.Turns, Stopwatch.GetElapsedTime(start) / limit))) && Decide(isLast);
        }
    }

    // There and back, and in every other turn of a pair the other way round.
    private IEnumerable<int> Order(int round)
    {
        int[] sides = [.. Enumerable.Range(0, _sides)];
        int[] there = ((round / plan.Pairs) + (round % plan.Pairs)) % 2 == 0 ? sides : [.. sides.Reverse()];
        return there.Concat(there.Reverse());
    }

    private async Task<RoundEnd> RoundAsync(TurnSessions sessions, int side, int round)
    {
        (int turn, int pair) = Math.DivRem(round, plan.Pairs);
        if (await sessions.RoundAsync(side, pair, turn) is not { Rate: { } rate } measured)
        {
            return RoundEnd.Over;
        }

        // Rounds that do not count must not decide when to end.
        if (!measured.IsDisturbed)
        {
            _rounds.Add((side, new TurnRound(pair, turn, side > 0, rate, measured.Room)));
        }

        return RoundEnd.Next;
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
