using System.Globalization;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Lab.Tests.Results;

/// <summary>Verdicts on results that were stored: on runs of one build that were recorded on a busy machine, and on simulated ones.</summary>
public class StoredComparisonTests
{
    private const double Quiet = 0.02;
    private const double Busy = 0.2;

    [Fact]
    public void Of_RecordedRunsOfOneBuild_NeverHasAVerdict()
    {
        ResultFile[] runs = [.. Recorded()];

        ComparisonRecord[] compared = [.. from a in runs from b in runs where !ReferenceEquals(a, b) select Rate(Compare(a, b))];

        Assert.InRange(compared.Length, 100, int.MaxValue);
        Assert.DoesNotContain(compared, static c => c.Verdict is Verdict.Slower or Verdict.Faster);

        // By the rounds alone, as if each were independent, they would be different things.
        Assert.Contains(
            from a in runs from b in runs select Comparison.Of(Rates(a), Rates(b)), static c => c.Verdict is Verdict.Slower or Verdict.Faster);
    }

    [Fact]
    public void Of_TheSameBuildOnOtherDays_IsHardlyEverCalledDifferent()
    {
        Random random = new(3);
        int wrong = 0;
        for (int i = 0; i < 500; i++)
        {
            // Processes differ by 1 %, days by 3 %; the canary sees the days, as far as they are the processor's.
            ResultFile Day()
            {
                double day = Math.Exp(0.03 * Noise.Normal(random));
                return Run(random, 1000 * day, 8, 0.01, speed: 1e9 * day);
            }

            wrong += Rate(Compare(Day(), Day())).Verdict is Verdict.Slower or Verdict.Faster ? 1 : 0;
        }

        Assert.InRange(wrong, 0, 5);
    }

    [Theory]
    [InlineData(0.9, Verdict.Slower)]
    [InlineData(1.2, Verdict.Faster)]
    [InlineData(1, Verdict.Equivalent)]
    public void Of_QuietMachine_HasAVerdict(double factor, Verdict verdict)
    {
        Random random = new(4);

        int found = Enumerable.Range(0, 100)
            .Count(_ => Rate(Compare(Run(random, 1000, 8, 0.01), Run(random, 1000 * factor, 8, 0.01))).Verdict == verdict);

        Assert.InRange(found, 95, 100);
    }

    [Fact]
    public void Of_ManyRoundsOfOneProcess_IsInconclusiveAndSaysWhatToDo()
    {
        Random random = new(5);
        ResultFile one = Run(random, 1000, 1, 0.01, rounds: 20);

        ComparisonRecord compared = Rate(Compare(one, Run(random, 800, 8, 0.01)));

        Assert.Equal(Verdict.Inconclusive, compared.Verdict);
        Assert.StartsWith("a has only 1 of at least 5 processes that count: measure it again with --processes 8, or measure the two in turns", compared.Note,
            StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(Busy, Quiet, "a")]
    [InlineData(Quiet, Busy, "b")]
    public void Of_ABadCanaryOnEitherSide_IsInconclusive(double before, double after, string named)
    {
        Random random = new(6);

        ComparisonRecord compared = Rate(Compare(Run(random, 1000, 8, 0.01, canary: before), Run(random, 800, 8, 0.01, canary: after)));

        Assert.Equal(Verdict.Inconclusive, compared.Verdict);
        Assert.StartsWith($"other programs were running when {named} was measured", compared.Note, StringComparison.Ordinal);
    }

    [Fact]
    public void Of_AFindingOfEitherSide_IsInconclusive()
    {
        Random random = new(6);
        ResultFile quiet = Run(random, 1000, 8, 0.01, canary: 0);
        ResultFile busy = quiet with { Findings = [.. Finding.Noise(Busy)] };

        Assert.Equal(Verdict.Inconclusive, Rate(Compare(busy, quiet)).Verdict);
        Assert.Equal(Verdict.Inconclusive, Rate(Compare(quiet, busy)).Verdict);
        Assert.Equal(Verdict.Equivalent, Rate(Compare(quiet, quiet)).Verdict);
    }

    [Fact]
    public void Of_AFasterProcessor_IsInconclusive()
    {
        Random random = new(7);

        ComparisonRecord compared = Rate(Compare(Run(random, 1000, 8, 0.01), Run(random, 1100, 8, 0.01, speed: 1.1e9)));

        Assert.Equal(Verdict.Inconclusive, compared.Verdict);
        Assert.StartsWith("the processor itself was 10.0 % faster when b was measured", compared.Note, StringComparison.Ordinal);
    }

    [Fact]
    public void Of_OtherMachines_IsInconclusiveUnlessAskedFor()
    {
        Random random = new(8);
        ResultFile before = Run(random, 1000, 8, 0.01);
        ResultFile after = Run(random, 800, 8, 0.01, speed: 2e9);
        after = after with { Machine = after.Machine with { Hash = "other" } };

        Assert.Equal(Verdict.Inconclusive, Rate(Compare(before, after)).Verdict);
        Assert.Equal(Verdict.Slower, Rate(ResultComparison.Of(("a", before), ("b", after), across: ["machine"])).Verdict);
    }

    [Theory]
    [InlineData(72, 96, Verdict.More)]
    [InlineData(72, 48, Verdict.Less)]
    [InlineData(72, 72, Verdict.Equivalent)]
    [InlineData(0, 24, Verdict.More)]
    public void Of_OneRoundOnABusyMachine_IsExactInBytes(double before, double after, Verdict verdict)
    {
        Random random = new(9);
        ResultFile A(double bytes) => Run(random, 1000, 1, 0.3, canary: Busy, bytes: bytes, rounds: 1);

        ComparisonRecord compared = Compare(A(before), A(after)).Comparisons.Single(static c => c.Figure == ComparedFigure.Bytes);

        Assert.Equal((verdict, "exact", before, after), (compared.Verdict, compared.Interval, compared.AgainstValue, compared.Value));
    }

    [Fact]
    public void Of_BytesThatVary_NeedMoreThanADifferenceOfTheMeans()
    {
        Random random = new(10);
        RoundRecord[] Rounds(double mean) =>
        [
            .. Enumerable.Range(1, 8)
                .Select(i => new RoundRecord
                {
                    Order = i, Operations = 1000, Seconds = 1, Rate = 1, AllocatedBytes = (long)(1000 * (mean + (20 * Noise.Normal(random)))),
                }),
        ];
        ArmRecord Arm(double mean) => new() { Name = "x", Workers = 1, Rounds = Rounds(mean) };
        Verdict Of(double before, double after) => ArmBytes.Of(Arm(after))!.Against(ArmBytes.Of(Arm(before))!, new ComparisonOptions()).Verdict;

        Assert.Equal(0, Enumerable.Range(0, 200).Count(_ => Of(200, 200) is Verdict.More or Verdict.Less));
        Assert.InRange(Enumerable.Range(0, 200).Count(_ => Of(200, 300) == Verdict.More), 195, 200);
    }

    [Fact]
    public void Of_Percentiles_AreThoseOfProcesses()
    {
        Random random = new(11);
        ComparisonOptions options = new() { Figures = [ComparedFigure.P50, ComparedFigure.P99] };
        ResultFile before = Run(random, 1000, 8, 0.01, latency: 100_000);
        ResultFile after = Run(random, 1000, 8, 0.01, latency: 130_000);

        ResultFile compared = ResultComparison.Of(("a", before), ("b", after), options);

        Assert.Equal([ComparedFigure.P50, ComparedFigure.P99], compared.Comparisons.Select(static c => c.Figure));
        Assert.All(compared.Comparisons, static c => Assert.Equal((Verdict.Slower, 1.3), (c.Verdict, Math.Round(c.Ratio, 1))));
        Assert.All(compared.Comparisons, static c => Assert.Equal(0.005, c.Alpha, 6));
        Assert.All(ResultComparison.Of(("a", before), ("b", before), options).Comparisons, static c => Assert.Equal(Verdict.Equivalent, c.Verdict));
    }

    [Fact]
    public void Of_WhatOnlyOneHasAResultOf_IsNamed()
    {
        Random random = new(12);
        ResultFile run = Run(random, 1000, 8, 0.01);
        ArmRecord arm = run.Arms[0];
        ResultFile before = run with { Arms = [arm, arm with { Name = "gone" }, arm with { Name = "failed" }] };
        ResultFile after = run with { Arms = [arm, arm with { Name = "failed", Rounds = [] }, arm with { Name = "new" }] };

        static string[] Said(ResultFile compared) =>
            [.. compared.Findings.Select(static f => f.Text).Where(static t => t.StartsWith("Not compared", StringComparison.Ordinal))];

        Assert.Equal(
            ["Not compared, because only a has a result: gone x 1, failed x 1.", "Not compared, because only b has a result: new x 1."],
            Said(Compare(before, after)));
        Assert.Empty(Said(Compare(run, run)));
    }

    private static ResultFile Compare(ResultFile before, ResultFile after) => ResultComparison.Of(("a", before), ("b", after));

    private static ComparisonRecord Rate(ResultFile result) => result.Comparisons.Single(static c => c.Figure == ComparedFigure.Rate);

    private static double[] Rates(ResultFile result) => [.. result.Arms[0].Counted.Select(static r => r.Rate)];

    internal static ResultFile Run(
        Random random, double rate, int processes, double ofProcesses, double canary = Quiet, double speed = 1e9, double? bytes = null, int rounds = 2,
        double? latency = null)
    {
        List<RoundRecord> all = [];
        for (int process = 1; process <= processes; process++)
        {
            double own = Math.Exp(ofProcesses * Noise.Normal(random));
            for (int round = 0; round < rounds; round++)
            {
                all.Add(new RoundRecord
                {
                    Order = all.Count + 1,
                    Process = process,
                    Operations = 1_000_000,
                    Seconds = 1,
                    Rate = rate * own * Math.Exp(0.005 * Noise.Normal(random)),
                    AllocatedBytes = bytes is { } known ? (long)(known * 1_000_000) : null,
                    CanarySlowness = canary > 0 ? 1 + canary : null,
                    CanaryVariation = canary > 0 ? canary : null,
                    CanarySpeed = canary > 0 ? speed : null,
                    Service = latency is { } typical ? Histogram(random, typical * own) : null,
                });
            }
        }

        return Of(all);
    }

    private static string Histogram(Random random, double typical)
    {
        Lab.Latency.LatencyHistogram histogram = new();
        for (int i = 0; i < 2_000; i++)
        {
            histogram.Record((long)(typical * Math.Exp(0.1 * Noise.Normal(random))));
        }

        return Lab.Latency.HistogramCodec.Encode(histogram);
    }

    private static ResultFile Of(IReadOnlyList<RoundRecord> rounds) => new()
    {
        Command = "run",
        Arguments = ["run"],
        Work = "work",
        Unit = "operations",
        StartedAt = new DateTimeOffset(2026, 1, 2, 3, 4, 5, TimeSpan.Zero),
        Machine = MachineRecord.Read() with { Cores = 2, Hash = "one" },
        Arms = [new ArmRecord { Name = "work", Workers = 1, Rounds = rounds }],
    };

    // Run, process, rate, variation and speed of the canary, room and steal of each round, as they were measured.
    private static IEnumerable<ResultFile> Recorded() =>
        from line in RecordedNoise.Lines("runs.csv")
        let cells = line.Split(',')
        group cells by cells[0] into run
        select Of([.. run.Select(static (c, i) => new RoundRecord
        {
            Order = i + 1,
            Process = int.Parse(c[1], CultureInfo.InvariantCulture),
            Operations = 1000,
            Seconds = 0.1,
            Rate = Number(c[2]),
            CanarySlowness = 1,
            CanaryVariation = Number(c[3]),
            CanarySpeed = Number(c[4]),
            Room = Number(c[5]),
            StealSeconds = Number(c[6]),
        })]);

    private static double Number(string cell) => double.Parse(cell, CultureInfo.InvariantCulture);
}
