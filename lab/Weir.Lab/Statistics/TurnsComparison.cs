namespace Weir.Lab.Statistics;

/// <summary>
/// Two things compared by rounds that pairs of processes made in turns. The pair is the unit: rounds of one process share its code, memory and threads, so
/// the interval comes from how much the pairs differ, by the distribution of Student.
/// </summary>
/// <param name="Comparison">What it comes to.</param>
/// <param name="Pairs">How many pairs of processes it rests on.</param>
/// <param name="Slope">
/// By how much the rate followed the room that others left, on logarithmic scales; <see langword="null"/> when the rounds were taken as they are.
/// </param>
internal sealed record TurnsComparison(Comparison Comparison, int Pairs, double? Slope)
{
    // With fewer turns the slope would follow chance.
    private const int LeastTurns = 8;

    // How sure it must be that the two leave others different room before that is taken for their doing.
    private const double RoomLevel = 0.01;

    /// <summary>Compares.</summary>
    /// <param name="rounds">The rounds. Turns in which a side has none do not count.</param>
    /// <param name="options">Margin and level.</param>
    /// <param name="share">The share of alpha that this look has, as <see cref="SequentialLooks"/> says: more than 0, 1 for a single look.</param>
    /// <param name="step">
    /// By how much the logarithm of the ratio may be off in all pairs alike, because what was measured comes in steps. The interval is wider by it on both
    /// sides.
    /// </param>
    /// <returns>The comparison. With fewer than two pairs nothing can be said.</returns>
    /// <remarks>
    /// Where other programs take much of the processors, most of the differences between rounds are theirs. How much room they left is known, so it serves as
    /// a control variate: each turn's logarithm of the ratio is compared at equal room, with the slope that the turns themselves show (R. Y. Rubinstein and
    /// R. Marcus, Operations Research 33, 1985). Not when the two sides themselves leave different room, which is then a part of what is compared.
    /// </remarks>
    public static TurnsComparison Of(IReadOnlyList<TurnRound> rounds, ComparisonOptions options, double share = 1, double step = 0)
    {
        options.Validate();
        if (!(share is > 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(nameof(share), share, "A share is more than 0 and at most 1.");
        }

        TurnDifference[] turns = [.. TurnDifference.Of(rounds)];
        double? slope = SlopeOf(turns);
        double[] means = [.. turns.GroupBy(static t => t.Pair).Select(g => g.Average(t => t.At(slope)))];
        double estimate = means.Length > 0 ? means.Average() : 0;
        RatioInterval ratio;
        double p = 1;
        if (means.Length < 2)
        {
            ratio = new RatioInterval(Math.Exp(estimate), 0, double.PositiveInfinity, options.Level);
        }
        else
        {
            double error = StandardError(means);
            StudentDistribution student = new(means.Length - 1);
            double half = (student.Quantile(1 - (options.Alpha * share / 2)) * error) + step;
            ratio = new RatioInterval(Math.Exp(estimate), Math.Exp(estimate - half), Math.Exp(estimate + half), options.Level);

            // On the scale of the whole comparison, so that it is below alpha exactly when the interval leaves out 1.
            double sure = Math.Max(0, Math.Abs(estimate) - step);
            p = Math.Min(1, 2 * student.Cdf(-sure / Math.Max(error, double.Epsilon)) / share);
        }

        return new TurnsComparison(
            new Comparison(Comparison.Decide(ratio, p, options), ratio, p, ModalityOf(rounds, false), ModalityOf(rounds, true)), means.Length, slope);
    }

    private static double? SlopeOf(TurnDifference[] turns)
    {
        if (turns.Length < LeastTurns || turns.Any(static t => t.Room is null))
        {
            return null;
        }

        double room = turns.Average(static t => t.Room!.Value);
        double rate = turns.Average(static t => t.Rate);
        double squares = turns.Sum(t => Math.Pow(t.Room!.Value - room, 2));
        return squares > 0 && !HaveDifferentRoom(turns) ? turns.Sum(t => (t.Room!.Value - room) * (t.Rate - rate)) / squares : null;
    }

    private static bool HaveDifferentRoom(TurnDifference[] turns)
    {
        double[] means = [.. turns.GroupBy(static t => t.Pair).Select(static g => g.Average(static t => t.Room!.Value))];
        return means.Length < 2 || Math.Abs(means.Average()) > new StudentDistribution(means.Length - 1).Quantile(1 - (RoomLevel / 2)) * StandardError(means);
    }

    private static double StandardError(double[] values)
    {
        double mean = values.Average();
        return Math.Sqrt(values.Sum(v => (v - mean) * (v - mean)) / (values.Length - 1) / values.Length);
    }

    // Of processes, not of rounds: rounds of a few milliseconds have heaps that the scheduler makes.
    private static Modality ModalityOf(IReadOnlyList<TurnRound> rounds, bool isCandidate) =>
        rounds.Where(r => r.IsCandidate == isCandidate)
            .GroupBy(static r => r.Pair)
            .Select(static g => g.Average(static r => r.Rate))
            .ToArray() is { Length: > 0 } rates
            ? Modality.Of(rates)
            : new Modality(2, []);

    private sealed record TurnDifference(int Pair, double Rate, double? Room)
    {
        public static IEnumerable<TurnDifference> Of(IReadOnlyList<TurnRound> rounds) =>
            from turn in rounds.Where(static r => r.Rate > 0).GroupBy(static r => (r.Pair, r.Turn))
            let before = turn.Where(static r => !r.IsCandidate).ToArray()
            let after = turn.Where(static r => r.IsCandidate).ToArray()
            where before.Length > 0 && after.Length > 0
            select new TurnDifference(
                turn.Key.Pair,
                after.Average(static r => Math.Log(r.Rate)) - before.Average(static r => Math.Log(r.Rate)),
                turn.All(static r => r.Room > 0)
                    ? after.Average(static r => Math.Log(r.Room!.Value)) - before.Average(static r => Math.Log(r.Room!.Value))
                    : null);

        public double At(double? slope) => slope is { } s ? Rate - (s * Room!.Value) : Rate;
    }
}
