using System.Globalization;
using Weir.Cli.Commands.Gate;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Tests.Commands.Gate;

/// <summary>Gates over pairs of processes of one build, which were recorded on a busy machine: drawn anew for each pass of each gate.</summary>
public class GatePassesTests
{
    private static readonly ComparisonOptions Options = new() { Figures = [ComparedFigure.Rate] };

    [Theory]
    [InlineData(3)]
    [InlineData(8)]
    public async Task RunAsync_TheSameCodeWithNeighbours_FailsInAtMostOneOfAThousand(int pairs)
    {
        RecordedPairs recorded = new(seed: pairs);
        int failed = 0;
        for (int gate = 0; gate < 2_000; gate++)
        {
            failed += await FailsAsync(recorded, pairs, 1) ? 1 : 0;
        }

        Assert.InRange(failed, 0, 2);
    }

    [Fact]
    public async Task RunAsync_HalfTheRate_FailsMostly()
    {
        RecordedPairs recorded = new(seed: 1);
        int failed = 0;
        for (int gate = 0; gate < 200; gate++)
        {
            failed += await FailsAsync(recorded, 10, 0.5) ? 1 : 0;
        }

        Assert.InRange(failed, 100, 200);
    }

    [Theory]
    [InlineData("worse,worse", Verdict.Slower, "confirmed by a second measurement")]
    [InlineData("worse,same", Verdict.Equivalent, "looked worse once, and not again")]
    [InlineData("worse,undecided", Verdict.Inconclusive, "looked worse once, and not again")]
    [InlineData("worse,nothing", Verdict.Inconclusive, "looked worse once, which was not confirmed")]
    [InlineData("undecided,worse,worse", Verdict.Slower, "confirmed by a second measurement")]
    [InlineData("undecided,same", Verdict.Equivalent, null)]
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

    private static async Task<bool> FailsAsync(RecordedPairs recorded, int pairs, double ratio)
    {
        recorded.Shuffle();
        GatePasses gate = new(
            (_, _, options) => Task.FromResult<IReadOnlyList<GateGroup>>([recorded.Pass(pairs, ratio, options)]), Options, TimeSpan.FromSeconds(3));
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

    // Run, pair, turn, side, rate and room of each round, as they were measured.
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
        public GateGroup Pass(int pairs, double ratio, ComparisonOptions options)
        {
            List<RoundRecord>[] sides = [[], []];
            for (int pair = 1; pair <= pairs; pair++)
            {
                int swap = _random.Next(2);
                foreach (string[] cells in _pairs[_next++])
                {
                    int side = int.Parse(cells[3], CultureInfo.InvariantCulture) ^ swap;
                    sides[side].Add(new RoundRecord
                    {
                        Process = pair,
                        Turn = int.Parse(cells[2], CultureInfo.InvariantCulture),
                        Operations = 1,
                        Seconds = 0.1,
                        Rate = double.Parse(cells[4], CultureInfo.InvariantCulture) * (side == 1 ? ratio : 1),
                        Room = double.Parse(cells[5], CultureInfo.InvariantCulture),
                    });
                }
            }

            ArmRecord[] arms = [.. sides.Select(static (rounds, i) => new ArmRecord { Name = i == 0 ? "a" : "b", Workers = 1, Rounds = rounds })];
            return new GateGroup(arms, Comparing.Figures(arms[1], arms[0], options, clock: 0));
        }
    }
}
