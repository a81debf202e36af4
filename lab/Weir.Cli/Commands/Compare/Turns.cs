namespace Weir.Cli.Commands.Compare;

/// <summary>
/// Measures two or more workloads in many short rounds, until every comparison with the first is decided. Pairs of processes start one after the other, as many
/// at a time as the processors can warm up. The processes of a pair take turns (A B B A, and in the next pair B A A B; of three A B C C B A) and end, so that
/// there are as many pairs as fit in the time.
/// </summary>
internal sealed class Turns(WeirHost host, TurnPlan plan, ComparisonOptions options, double clock, RunProgress progress)
{
    // One pair proves nothing.
    private const int LeastPairs = 2;

    // The share of the time that a pair may take longer than all before it.
    private const double Tolerance = 0.05;

    // What the first pairs get if less is asked for: with fewer there would be nothing to say.
    private static readonly TimeSpan LeastTime = TimeSpan.FromSeconds(10);

    private readonly SequentialLooks _looks = new();
    private readonly List<Finding> _findings = [];
    private List<RoundRecord>[] _rounds = [];

    // As the first processes found it: those that follow take the same.
    private int? _batch;

    /// <summary>The number of looks: checks whether the comparison is decided.</summary>
    public int Looks { get; private set; }

    /// <summary>The share of alpha of the last look.</summary>
    public double Share { get; private set; } = 1;

    /// <summary>Measures.</summary>
    /// <returns>The rounds of both in the order in which they were made, and the findings about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(
        IReadOnlyList<WorkerOrder> orders, long began)
    {
        _rounds = [.. orders.Select(static _ => new List<RoundRecord>())];
        int atOnce = Math.Max(1, Environment.ProcessorCount / orders.Count);
        TimeSpan longest = TimeSpan.Zero;
        int batches = 0;
        for (int pair = 0; pair < plan.Pairs && !host.Stop.IsCancellationRequested;)
        {
            long start = Stopwatch.GetTimestamp();
            TimeSpan left = plan.Within - Stopwatch.GetElapsedTime(began, start);
            if (pair >= LeastPairs && longest > left)
            {
                break;
            }

            TimeSpan least = LeastTime - Stopwatch.GetElapsedTime(began, start);
            left = pair < LeastPairs && left < least ? least : left;
            int pairs = Math.Min(pair == 0 ? Math.Max(1, Math.Min(atOnce, plan.Pairs / LeastPairs)) : atOnce, plan.Pairs - pair);
            bool isWhole = await MeasureAsync(orders, pair, pairs, left + (plan.Within * Tolerance));
            pair += pairs;
            if (!isWhole)
            {
                if (!host.Stop.IsCancellationRequested && _rounds.Any(static r => r.Select(static x => x.Process).Distinct().Count() < LeastPairs))
                {
                    string early = $"The time was up before {LeastPairs} pairs of processes had ended; --within gives them more.";

                    // A side without a whole round is no result, and no stop by the user either.
                    FindingLevel level = _rounds.Any(static r => r.All(static x => x.Partial)) ? FindingLevel.Invalid : FindingLevel.Doubt;
                    _findings.Add(new Finding(level, early, FindingKind.Rounds));
                }

                break;
            }

            // The first batch takes longer, because this process gets warm too. So the second one replaces it, and from then on the longest counts.
            TimeSpan took = Stopwatch.GetElapsedTime(start);
            longest = ++batches <= 2 || took > longest ? took : longest;
            double progressed = Math.Max((double)pair / plan.Pairs, Stopwatch.GetElapsedTime(began) / plan.Within);
            if (pair >= LeastPairs && pair < plan.Pairs && _looks.IsDue(progressed) && longest < plan.Within - Stopwatch.GetElapsedTime(began)
                && Decide(orders, isLast: false))
            {
                return (_rounds, _findings);
            }
        }

        Decide(orders, isLast: true);
        return (_rounds, _findings);
    }

    // The pairs of one batch: they warm up together, and each has its turn before one has the next.
    // Whether they ended within the limit.
    private async Task<bool> MeasureAsync(IReadOnlyList<WorkerOrder> orders, int first, int pairs, TimeSpan limit)
    {
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(host.Stop);
        stop.CancelAfter(limit > TimeSpan.Zero ? limit : TimeSpan.Zero);
        TurnSessions sessions = new(host with { Stop = stop.Token }, orders, pairs, plan.AllRounds / 2 * orders.Count, progress)
        {
            First = first, Made = _rounds.Sum(static r => r.Count), Batch = _batch,
        };
        await sessions.WarmUpAsync();
        _batch = sessions.Batch;
        await RoundRunner.TakeTurnsAsync(
            orders.Count, round => round < plan.Turns * pairs, async (side, round) => await sessions.RoundAsync(side, round % pairs, round / pairs) is null
                ? RoundEnd.Over : RoundEnd.Next, CancellationToken.None, order: Order);
        (IReadOnlyList<IReadOnlyList<RoundRecord>> rounds, IReadOnlyList<Finding> findings) = await sessions.EndAsync();
        for (int side = 0; side < _rounds.Length; side++)
        {
            _rounds[side].AddRange(rounds[side]);
        }

        _findings.AddRange(findings);
        return !stop.IsCancellationRequested;

        // There and back, and in every other turn of a pair the other way round.
        IEnumerable<int> Order(int round)
        {
            int[] sides = [.. Enumerable.Range(0, orders.Count)];
            int[] there = ((round / pairs) + first + (round % pairs)) % 2 == 0 ? sides : [.. sides.Reverse()];
            return there.Concat(there.Reverse());
        }
    }

    private bool Decide(IReadOnlyList<WorkerOrder> orders, bool isLast)
    {
        Looks++;
        Share = _looks.Take(isLast);
        ArmRecord[] arms = [.. orders.Select((o, i) => new ArmRecord { Name = o.Name, Workers = o.Workers, Rounds = _rounds[i] })];
        return arms.Skip(1).All(arm => Comparing.Figures(arm, arms[0], options, clock, Looks, Share) is { Count: > 0 } compared
            && compared.All(c => c.Verdict != Verdict.Inconclusive || (options.Figures.Count > 1 && (c.Figure == ComparedFigure.Bytes || c.IsBelowClock))));
    }
}
