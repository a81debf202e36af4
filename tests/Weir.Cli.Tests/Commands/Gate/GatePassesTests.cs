using System.Globalization;
using Weir.Cli.Commands.Gate;
using Weir.Lab.Latency;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Tests.Commands.Gate;

/// <summary>Gates over pairs of processes of one build, which were recorded on a busy machine: drawn anew for each pass of each gate.</summary>
public class GatePassesTests
{
    private static readonly ComparisonOptions Options = new() { Figures = [ComparedFigure.Rate, ComparedFigure.P25] };

    // As many pairs of a pass as fit on two processors in 20 s.
    private const int Pairs = 4;

    [Theory]
    [InlineData(200)]
    [InlineData(2_000, Explicit = true)]
    public async Task RunAsync_TheSameCodeWithNeighbours_FailsInAtMostOneOfAThousand(int gates)
    {
        RecordedPairs recorded = new(seed: 3);
        int failed = 0;
        for (int gate = 0; gate < gates; gate++)
        {
            failed += await FailsAsync(recorded, 1) ? 1 : 0;
        }

        Assert.InRange(failed, 0, gates / 1_000);
    }

    // By the quick calls. The rates of these pairs differ by a third, so by them alone no change of a tenth is ever found.
    [Theory]
    [InlineData(1.10)]
    [InlineData(1.05)]
    public async Task RunAsync_LongerWorkWithNeighbours_FailsInNineteenOfTwenty(double longer)
    {
        RecordedPairs recorded = new(seed: 1);
        int failed = 0;
        for (int gate = 0; gate < 200; gate++)
        {
            failed += await FailsAsync(recorded, longer) ? 1 : 0;
        }

        Assert.InRange(failed, 190, 200);
    }

    [Theory]
    [InlineData("worse,worse", Verdict.Slower, "confirmed by a second measurement")]
    [InlineData("worse,same", Verdict.Equivalent, "looked worse once, and not again")]
    [InlineData("worse,undecided", Verdict.Inconclusive, "looked worse once, and not again")]
    [InlineData("worse,nothing", Verdict.Inconclusive, "looked worse once, which was not confirmed")]
    [InlineData("undecided,worse,worse", Verdict.Slower, "confirmed by a second measurement")]
    [InlineData("undecided,same", Verdict.Equivalent, null)]
    [InlineData("nothing,same", Verdict.Equivalent, null)]
    [InlineData("nothing,worse,worse", Verdict.Slower, "confirmed by a second measurement")]
    [InlineData("undecided,undecided", Verdict.Inconclusive, null)]
    [InlineData("same", Verdict.Equivalent, null)]
    public async Task RunAsync_OfPasses_FailsOnlyForWhatIsWorseTwice(string said, Verdict verdict, string? note)
    {
        Queue<string> passes = new(said.Split(','));
        GatePasses gate = new((_, _, _) => Task.FromResult<IReadOnlyList<GateGroup>>([Group(passes.Dequeue())]), Options, TimeSpan.FromSeconds(3));

        IReadOnlyList<GateGroup> found = await gate.RunAsync(1, CancellationToken.None);

        ComparisonRecord compared = Assert.Single(found[0].Comparisons);
        Assert.Equal((verdict, note), (compared.Verdict, compared.Note));
        Assert.Empty(passes);
    }

    // Beside neighbours each pass may end with too few calls for exact bytes.
    [Theory]
    [InlineData("120.2>152.1,119.9>151.8,120>152", Verdict.More, "confirmed by a second measurement")]
    [InlineData("120>152!,120.3>152.4", Verdict.More, "confirmed by a second measurement")]
    [InlineData("120>152!,120.3>160.1", Verdict.Inconclusive, "looked worse once, and not again")]
    [InlineData("120>152,120>144", Verdict.Inconclusive, null)]
    [InlineData("120>120.2,120>120", Verdict.Equivalent, null)]
    [InlineData("152>120,152>120", Verdict.Less, null)]
    [InlineData("120>125,120>125", Verdict.Inconclusive, null)]
    public async Task RunAsync_TheSameBytesInNewProcesses_AreAVerdict(string said, Verdict verdict, string? note)
    {
        Queue<string> passes = new(said.Split(','));
        GatePasses gate = new((_, _, _) => Task.FromResult<IReadOnlyList<GateGroup>>([GroupOfBytes(passes.Dequeue())]), Options, TimeSpan.FromSeconds(3));

        IReadOnlyList<GateGroup> found = await gate.RunAsync(1, CancellationToken.None);

        ComparisonRecord compared = Assert.Single(found[0].Comparisons);
        Assert.Equal((verdict, note), (compared.Verdict, compared.Note));
        Assert.Empty(passes);
    }

    // The bytes of both, with a sign if the pass was sure of them.
    private static GateGroup GroupOfBytes(string said)
    {
        double[] bytes = [.. said.TrimEnd('!').Split('>').Select(static b => double.Parse(b, CultureInfo.InvariantCulture))];
        return new GateGroup([], [new ComparisonRecord
        {
            Arm = "b", Against = "a", Figure = ComparedFigure.Bytes, Value = bytes[1], AgainstValue = bytes[0], Ratio = bytes[1] / bytes[0], Low = 0,
            High = double.PositiveInfinity, P = 0.4, Margin = 0.03, Alpha = 0.01, Verdict = said.EndsWith('!') ? Verdict.More : Verdict.Inconclusive,
        }]);
    }

    [Fact]
    public async Task RunAsync_OfSeveralGroups_RepeatsOnlyTheUndecidedAtHalfOfAlpha()
    {
        List<(string Groups, double Alpha)> asked = [];
        GatePasses gate = new(
            (groups, _, options) =>
            {
                asked.Add((string.Join(' ', groups), options.Alpha));
                return Task.FromResult<IReadOnlyList<GateGroup>>([.. groups.Select(g => Group(g == 1 && asked.Count == 1 ? "undecided" : "same"))]);
            },
            Options,
            TimeSpan.FromSeconds(3));

        await gate.RunAsync(3, CancellationToken.None);

        Assert.Equal([("0 1 2", 0.005), ("1", 0.005)], asked);
    }

    [Fact]
    public async Task RunAsync_Stopped_FailsForNothingUnconfirmed()
    {
        using CancellationTokenSource stop = new();
        GatePasses gate = new(
            (_, _, _) =>
            {
                stop.Cancel();
                return Task.FromResult<IReadOnlyList<GateGroup>>([Group("worse")]);
            },
            Options,
            TimeSpan.FromSeconds(3));

        IReadOnlyList<GateGroup> found = await gate.RunAsync(1, stop.Token);

        Assert.Equal(Verdict.Inconclusive, Assert.Single(found[0].Comparisons).Verdict);
    }

    private static async Task<bool> FailsAsync(RecordedPairs recorded, double longer)
    {
        recorded.Shuffle();
        GatePasses gate = new(
            (_, _, options) => Task.FromResult<IReadOnlyList<GateGroup>>([recorded.Pass(longer, options)]), Options, TimeSpan.FromSeconds(3));
        return (await gate.RunAsync(1, CancellationToken.None)).Any(static g => g.Comparisons.Any(static c => c.IsWorse));
    }

    private static GateGroup Group(string said) => new([], said == "nothing" ? [] : [new ComparisonRecord
    {
        Arm = "b x 1",
        Against = "a x 1",
        Ratio = 1,
        Low = 1,
        High = 1,
        P = 1,
        Margin = 0.03,
        Alpha = 0.01,
        Verdict = said switch { "worse" => Verdict.Slower, "undecided" => Verdict.Inconclusive, _ => Verdict.Equivalent },
    }]);

    // Run, pair, turn, side, rate, room and p25 of each round, as they were measured.
    private sealed class RecordedPairs
    {
        private readonly Random _random;
        private readonly string[][][] _pairs;
        private int _next;

        public RecordedPairs(int seed)
        {
            _random = new Random(seed);
            using StreamReader reader = new(typeof(RecordedPairs).Assembly.GetManifestResourceStream("recorded-turns.csv")!);
            _pairs =
            [
                .. reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries).Skip(1).Select(static l => l.Split(','))
                    .GroupBy(static c => (c[0], c[1]))
                    .Select(static pair => pair.ToArray()),
            ];
        }

        /// <summary>A new gate: its passes get pairs in another order, each at most once.</summary>
        public void Shuffle()
        {
            _random.Shuffle(_pairs);
            _next = 0;
        }

        /// <summary>A pass over the next pairs, each with its sides in either order.</summary>
        public GateGroup Pass(double longer, ComparisonOptions options)
        {
            List<RoundRecord>[] sides = [[], []];
            for (int pair = 1; pair <= Pairs; pair++)
            {
                int swap = _random.Next(2);
                foreach (IGrouping<int, string[]> rounds in _pairs[_next++].GroupBy(c => int.Parse(c[3], CultureInfo.InvariantCulture) ^ swap))
                {
                    double slowness = rounds.Key == 1 ? longer : 1;
                    RoundRecord[] made = [.. rounds.Select(cells => new RoundRecord
                    {
                        Process = pair,
                        Turn = int.Parse(cells[2], CultureInfo.InvariantCulture),
                        Operations = 1,
                        Seconds = 0.1,
                        Rate = Number(cells[4]) / slowness,
                        Room = Number(cells[5]),
                    })];
                    sides[rounds.Key].AddRange([made[0] with { Service = Latencies(rounds.Average(static c => Number(c[6])) * slowness) }, .. made[1..]]);
                }
            }

            ArmRecord[] arms = [.. sides.Select(static (rounds, i) => new ArmRecord { Name = i == 0 ? "a" : "b", Workers = 1, Rounds = rounds })];
            return new GateGroup(arms, Comparing.Figures(arms[1], arms[0], options, clock: 0));
        }

        private static double Number(string cell) => double.Parse(cell, CultureInfo.InvariantCulture);

        // So many that a quarter of them is a known percentile.
        private static string Latencies(double nanoseconds)
        {
            LatencyHistogram latencies = new();
            for (int i = 0; i < 8; i++)
            {
                latencies.Record((long)nanoseconds);
            }

            return HistogramCodec.Encode(latencies);
        }
    }
}
