using Weir.Lab.Scaling;

namespace Weir.Tables.SelfChecks;

/// <summary>How often the fit of <c>weir scale</c> names the law that is true, on simulated rates with the noise of recorded ones.</summary>
internal static class LawCheck
{
    private const int Processes = 3;
    private const int Series = 1_000;
    private const double LeastNamed = 0.95;
    private const double LeastHeld = 0.95;
    private const double MostInvented = 0.05;

    // How far chance puts the share of so many series below the true one: two standard errors.
    private static readonly double Chance = 2 * Math.Sqrt(LeastHeld * (1 - LeastHeld) / Series);
    private static readonly int[] Six = [1, 2, 3, 4, 6, 8];
    private static readonly int[] Four = [1, 2, 4, 8];

    private static readonly (string Name, ScalingLaw Law, UslModel Truth)[] Laws =
    [
        ("linear", ScalingLaw.Linear, new UslModel(1000, 0, 0)),
        ("Amdahl, 10 % by one at a time", ScalingLaw.Amdahl, new UslModel(1000, 0.1, 0)),
        ("USL, peak at 4.9 workers", ScalingLaw.Universal, new UslModel(1000, 0.05, 0.04)),
    ];

    // How far the processes of one side were from their mean, in hundredths of a percent of the rate, with Bessel's correction: those of 'weir compare' of
    // PairedMethods.Compute and of PairedMethods.Allocate, for docs/results/lab.md on a quiet machine of two processors on 2026-11-27.
    private static readonly (string Name, int[] Apart)[] Recorded =
    [
        ("that computes",
        [
            -138, 201, 133, -273, 78, 71, -4, -45, -75, 53, -295, 109, -118, 303, 167, -60, -265, 158, -10, 2, -116, -128, 252, 10, 51, 41, -113, 12, -104, 105,
            49, -50, 138, 51, -153, -37, 63, 97, -16, -144, 72, 8, -203, 123, -15, 34, 67, -87, -130, 81, -37, 86, 36, 24, -227, 167, 13, -85, 16, 56, -319,
            -57, 377, -2, 64, -15, -13, -36,
        ]),
        ("that allocates",
        [
            -650, 377, 210, 62, 236, -11, -284, 59, -196, 24, 134, 39, 294, 404, -908, 209, 266, -432, 137, 29, 294, -741, 235, 212, -132, 53, -61, 140, 10,
            -21, -230, 241, 52, 163, -491, 277, 290, 190, -450, -30, 63, 64, 108, -234, 295, -532, 88, 149, -70, 349, 264, -543, 9, 46, 31, -87, 111, 8, -95,
            -24, 392, 252, -179, -465,
        ]),
    ];

    /// <summary>Simulates all.</summary>
    public static CheckSection Run() =>
        Section([.. from noise in Recorded from law in Laws from counts in new[] { Six, Four } select Simulated(law, noise, counts)]);

    internal static CheckSection Section(IReadOnlyList<LawOutcome> all) => new(
        Invariant($"with six worker counts the law that is true is named in at least {LeastNamed * 100:0} % of the series, the interval of each of its ")
            + Invariant($"parameters holds the truth in at least {LeastHeld * 100:0} % (less {Chance * 100:0.0} % by chance), and a peak is invented in at ")
            + Invariant($"most {MostInvented * 100:0} %; with four, the same of the linear law and of Amdahl's, and of the other one no peak and in at most ")
            + Invariant($"{MostInvented * 100:0} % another law."),
        "| true law | noise | worker counts | named rightly | refused | peak given | interval holds: lambda | sigma | kappa "
            + "|\n|---|---|---|---|---|---|---|---|---|\n"
            + string.Concat(all.Select(Row))
            + Invariant($"\nSimulated: {Series} series each, with {Processes} processes for each worker count, as `weir scale` has them. The rate of a ")
            + "process is that of the law times a factor that is drawn from those by which recorded processes of one method were apart on a quiet "
            + "machine (standard deviation "
            + Invariant($"{string.Join(" and ", Recorded.Select(static r => Invariant($"{DeviationOf(r.Apart) * 100:0.0} % of one {r.Name}")))}). ")
            + "The Universal Scalability Law needs six worker counts, the others four. "
            + "Intervals have a level of 95 %; they are counted where the true law is named.\n",
        all.All(IsMet),
        NeedsQuiet: false);

    private static LawOutcome Simulated((string Name, ScalingLaw Law, UslModel Truth) law, (string Name, int[] Apart) noise, int[] counts)
    {
        Random random = new(1);
        LawOutcome outcome = new(law.Name, noise.Name, counts.Length, law.Law == ScalingLaw.Universal, (int)law.Law + 1, Series);
        for (int i = 0; i < Series; i++)
        {
            ScalingFit fit = ScalingFit.Of([.. counts.Select(n => new ScalePoint(n, [.. Enumerable.Range(0, Processes)
                .Select(_ => law.Truth.RateAt(n) * Math.Exp(noise.Apart[random.Next(noise.Apart.Length)] / 1e4))]))]);
            bool isRight = fit.IsUsable && fit.Law == law.Law;
            int Held(Estimate estimate, double truth) => isRight && truth >= estimate.Lower && truth <= estimate.Upper ? 1 : 0;
            outcome = outcome with
            {
                Right = outcome.Right + (isRight ? 1 : 0),
                Refused = outcome.Refused + (fit.IsUsable ? 0 : 1),
                Peaks = outcome.Peaks + (fit.HasPeak ? 1 : 0),
                Lambda = outcome.Lambda + Held(fit.Lambda, law.Truth.Lambda),
                Sigma = outcome.Sigma + Held(fit.Sigma, law.Truth.Sigma),
                Kappa = outcome.Kappa + Held(fit.Kappa, law.Truth.Kappa),
            };
        }

        return outcome;
    }

    private static bool IsMet(LawOutcome o) => o.HasPeak && o.Counts < ScalingFit.LeastPointsOfAll
        ? o.Refused >= (1 - MostInvented) * o.Series && o.Peaks == 0
        : o.Right >= LeastNamed * o.Series && (o.HasPeak || o.Peaks <= MostInvented * o.Series)
            && new[] { o.Lambda, o.Sigma, o.Kappa }.Take(o.Parameters).All(held => held >= (LeastHeld - Chance) * o.Right);

    private static string Row(LawOutcome o)
    {
        string Held(int held, int parameter) => parameter < o.Parameters && o.Right > 0 ? Share(held, o.Right) : "-";
        return Invariant($"| {o.Law} | of a method {o.Noise} | {o.Counts} | {Share(o.Right, o.Series)} | {Share(o.Refused, o.Series)} | ")
            + Invariant($"{Share(o.Peaks, o.Series)} | {Held(o.Lambda, 0)} | {Held(o.Sigma, 1)} | {Held(o.Kappa, 2)} |\n");
    }

    private static string Share(int part, int of) => Invariant($"{100.0 * part / of:0.0} %");

    private static double DeviationOf(int[] apart) => Math.Sqrt(apart.Average(static a => a * (double)a)) / 1e4;
}
