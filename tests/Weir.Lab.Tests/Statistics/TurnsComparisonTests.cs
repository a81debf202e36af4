using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Lab.Tests.Statistics;

/// <summary>The comparison of processes that take turns, on simulated machines: how often it is wrong, and how often it finds what is there.</summary>
public class TurnsComparisonTests
{
    private static readonly ComparisonOptions Defaults = new();

    [Theory]
    [InlineData(0, 0)]
    [InlineData(0.01, 0)]
    [InlineData(0.05, 0)]
    [InlineData(0.002, 1)]
    public void Of_SameThingTwice_IsHardlyEverCalledDifferent(double ofProcesses, int others)
    {
        Machine machine = new(7, ofProcesses, others);

        Outcome[] outcomes = [.. Enumerable.Range(0, 1_000).Select(_ => machine.Compare(1))];

        // Alpha is 1 %, and the interval leaves out the truth no more often: 20 of 1,000 would happen by chance once in 500 times.
        Assert.InRange(outcomes.Count(static o => o.Verdict is Verdict.Faster or Verdict.Slower), 0, 10);
        Assert.InRange(outcomes.Count(static o => o.IsOutside(1)), 0, 20);
    }

    [Theory]
    [InlineData(0.002, 0, 800)]
    [InlineData(0.002, 1, 750)]
    public void Of_SameThingTwice_IsMostlyEquivalent(double ofProcesses, int others, int least)
    {
        Machine machine = new(8, ofProcesses, others);

        Assert.InRange(Enumerable.Range(0, 1_000).Count(_ => machine.Compare(1).Verdict == Verdict.Equivalent), least, 1_000);
    }

    [Theory]
    [InlineData(0.002, 0)]
    [InlineData(0.002, 1)]
    [InlineData(0.02, 1)]
    public void Of_TenPercentSlower_IsFound(double ofProcesses, int others)
    {
        Machine machine = new(9, ofProcesses, others);

        Outcome[] outcomes = [.. Enumerable.Range(0, 500).Select(_ => machine.Compare(1 / 1.1))];

        Assert.InRange(outcomes.Count(static o => o.Verdict == Verdict.Slower), 475, 500);
        Assert.InRange(outcomes.Count(static o => o.IsOutside(1 / 1.1)), 0, 12);
    }

    [Fact]
    public void Of_ProcessesThatDiffer_HasThemInTheInterval()
    {
        double Width(double ofProcesses)
        {
            Machine machine = new(10, ofProcesses, 0);
            return Enumerable.Range(0, 50).Average(_ => machine.Compare(1).Ratio is var r ? Math.Log(r.Upper / r.Lower) : 0);
        }

        Assert.True(Width(0.05) > 4 * Width(0.002));
    }

    [Fact]
    public void Of_SidesThatLeaveDifferentRoom_TakesTheRatesAsTheyAre()
    {
        // The candidate waits half of its time, and others take what it leaves.
        Random random = new(3);
        TurnRound[] rounds =
        [
            .. from turn in Enumerable.Range(0, 4)
               from pair in Enumerable.Range(0, 8)
               from candidate in new[] { false, true, true, false }
               let room = (candidate ? 0.5 : 0.9) * Math.Exp(0.02 * Noise.Normal(random))
               select new TurnRound(pair, turn, candidate, 100 * (candidate ? 0.95 : 1) * Math.Exp(0.005 * Noise.Normal(random)), room),
        ];

        TurnsComparison compared = TurnsComparison.Of(rounds, Defaults);

        Assert.Null(compared.Slope);
        Assert.Equal(0.95, compared.Comparison.Ratio.Estimate, 2);
        Assert.Equal(Verdict.Slower, compared.Comparison.Verdict);
    }

    [Fact]
    public void Of_AnyLook_ThePFitsTheInterval()
    {
        Machine machine = new(11, 0.01, 1);

        Assert.All(
            Enumerable.Range(0, 200).Select(i => machine.Compare(i % 2 == 0 ? 1 : 0.97)),
            static o => Assert.Equal(o.P < Defaults.Alpha, o.IsOutside(1)));
    }

    [Fact]
    public void Of_TooLittle_CanSayNothing()
    {
        Assert.Equal(Verdict.Inconclusive, TurnsComparison.Of([], Defaults).Comparison.Verdict);
        Comparison one = TurnsComparison.Of([new TurnRound(0, 0, false, 1), new TurnRound(0, 0, true, 5), new TurnRound(1, 0, false, 1)], Defaults).Comparison;
        Assert.Equal((Verdict.Inconclusive, 0, double.PositiveInfinity), (one.Verdict, one.Ratio.Lower, one.Ratio.Upper));
        Assert.Equal("share", Assert.Throws<ArgumentOutOfRangeException>(static () => TurnsComparison.Of([], Defaults, 0)).ParamName);
    }

    [Fact]
    public void Looks_OfARun_ShareAlpha()
    {
        SequentialLooks all = new();
        Assert.False(all.IsDue(0.3));
        Assert.True(all.IsDue(1 / 3.0));
        Assert.Equal([0.2, 0.3, 0.5], new[] { all.Take(false), all.Take(false), all.Take(true) }.Select(static s => Math.Round(s, 9)));
        Assert.False(all.IsDue(1));

        SequentialLooks stopped = new();
        stopped.Take(false);
        Assert.Equal(0.8, stopped.Take(true), 9);
    }

    private readonly record struct Outcome(Verdict Verdict, RatioInterval Ratio, double P)
    {
        public bool IsOutside(double truth) => Ratio.Lower > truth || Ratio.Upper < truth;
    }

    /// <summary>
    /// Eight pairs of processes that take turns, six times at most. Others take a share of the processors that goes on from round to round, the speed drifts,
    /// rounds stall now and then, and processes differ.
    /// </summary>
    private sealed class Machine(int seed, double ofProcesses, int others)
    {
        // As many as fit in half a minute on two processors.
        private const int Pairs = 8;
        private const int Turns = 3;
        private readonly Random _random = new(seed);

        public Outcome Compare(double ratio)
        {
            double[] speeds = [.. Enumerable.Range(0, 2 * Pairs).Select(_ => ofProcesses * Noise.Normal(_random))];
            SequentialLooks looks = new();
            List<TurnRound> rounds = [];
            double drift = 0;
            double taken = 0;
            for (int pair = 0; ; pair++)
            {
                for (int turn = 0; turn < Turns; turn++)
                {
                    bool first = (turn + pair) % 2 == 1;
                    foreach (bool candidate in new[] { first, !first, !first, first })
                    {
                        drift = (0.98 * drift) + (0.01 * Noise.Normal(_random));
                        taken = (0.3 * taken) + Noise.Normal(_random);
                        double room = others == 0 ? 1 : 0.65 * Math.Exp(-0.15 * taken);
                        double stall = _random.Next(50) == 0 ? 0.2 * _random.NextDouble() : 0;
                        double log = Math.Log(100 * room) + drift - stall + speeds[(2 * pair) + (candidate ? 1 : 0)] + (0.015 * Noise.Normal(_random))
                            + (candidate ? Math.Log(ratio) : 0);
                        rounds.Add(new TurnRound(pair, turn, candidate, Math.Exp(log), room * Math.Exp(0.01 * Noise.Normal(_random))));
                    }
                }

                bool isLast = pair == Pairs - 1;
                if (isLast || (pair > 0 && looks.IsDue((pair + 1.0) / Pairs)))
                {
                    Comparison look = TurnsComparison.Of(rounds, Defaults, looks.Take(isLast)).Comparison;
                    if (isLast || look.Verdict != Verdict.Inconclusive)
                    {
                        return new Outcome(look.Verdict, look.Ratio, look.P);
                    }
                }
            }
        }
    }
}
