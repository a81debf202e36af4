using Weir.Lab.Statistics;
using Weir.Lab.Trials;
using Weir.Lab.Work;
using static System.FormattableString;

namespace Weir.Lab.Suites.SelfChecks;

/// <summary>How often the same thing twice is called different, and a thing that is a tenth slower is not found.</summary>
internal static class VerdictCheck
{
    private const int Comparisons = 20;
    private const int Rounds = 20;
    private const double Slowdown = 0.10;
    private const int FewestFound = 18;
    private const int FewestSame = 19;
    private static readonly TimeSpan Window = TimeSpan.FromMilliseconds(40);
    private static readonly TimeSpan Piece = TimeSpan.FromMicroseconds(20);

    public static async Task<CheckSection> RunAsync()
    {
        double speed = CalibratedSpin.MeasureStepsPerSecond();
        CalibratedSpin work = CalibratedSpin.Of(Piece, speed);
        CalibratedSpin slower = new((long)(work.Steps / (1 - Slowdown)));
        List<Comparison> same = [];
        List<Comparison> planted = [];
        for (int i = 0; i < Comparisons; i++)
        {
            same.Add(await CompareAsync(work, work));
            planted.Add(await CompareAsync(work, slower));
        }

        int notDifferent = same.Count(static c => c.Verdict is Verdict.Equivalent or Verdict.Inconclusive);
        int found = planted.Count(static c => c.Verdict == Verdict.Slower);
        string table = "| compared | FASTER | SLOWER | EQUIVALENT | INCONCLUSIVE | median ratio | widest 95 % interval |\n|---|---|---|---|---|---|---|\n"
            + Row("the same work twice", same) + Row(Invariant($"work that is {Slowdown:P0} slower"), planted);
        return new CheckSection(
            "Verdicts",
            Invariant($"of {Comparisons} comparisons of the same work at least {FewestSame} are EQUIVALENT or INCONCLUSIVE, and of {Comparisons} with a planted slowdown of {Slowdown:P0} at least {FewestFound} are SLOWER. Each has {Rounds} rounds a side of {Window.TotalMilliseconds:0} ms, in turns (ABBA), compared in pairs with a margin of 3 % and alpha 1 %."),
            table,
            notDifferent >= FewestSame && found >= FewestFound);
    }

    private static async Task<Comparison> CompareAsync(CalibratedSpin baseline, CalibratedSpin candidate)
    {
        TrialReport report = await new TrialRunner(new TrialOptions { Trials = Rounds, MinimumWindow = Window, LongestWarmUp = Window * 4 })
            .RunAsync([ArmOf("baseline", baseline), ArmOf("candidate", candidate)]);
        return Comparison.Of(
            [.. report.Arms[0].Windows.Select(static w => w.Rate)],
            [.. report.Arms[1].Windows.Select(static w => w.Rate)],
            new ComparisonOptions { IsPaired = true });
    }

    private static Trials.Arm ArmOf(string name, CalibratedSpin work)
    {
        PassResult expected = new(1, work.Expect(1));
        return new Trials.Arm(name, expected, _ => new ValueTask<PassResult>(new PassResult(1, work.Run(1))))
        {
            WarmUp = _ =>
            {
                work.Run(1);
                return default;
            },
        };
    }

    private static string Row(string name, List<Comparison> comparisons)
    {
        int Count(Verdict verdict) => comparisons.Count(c => c.Verdict == verdict);
        RatioInterval widest = comparisons.MaxBy(static c => c.Ratio.Upper / c.Ratio.Lower)!.Ratio;
        double median = Trials.Spread.Of(comparisons.Select(static c => c.Ratio.Estimate)).Median;
        return Invariant(
            $"| {name} | {Count(Verdict.Faster)} | {Count(Verdict.Slower)} | {Count(Verdict.Equivalent)} | {Count(Verdict.Inconclusive)} | {median:0.000} | {widest.Lower:0.00} to {widest.Upper:0.00} |\n");
    }
}
