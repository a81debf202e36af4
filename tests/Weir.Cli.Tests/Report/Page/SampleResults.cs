using System.Globalization;
using Weir.Lab.Latency;
using Weir.Lab.Results;
using Weir.Lab.Statistics;

namespace Weir.Cli.Tests.Report.Page;

/// <summary>Results with everything in them that a page can show. Nothing of it was measured.</summary>
internal static class SampleResults
{
    /// <summary>Two arms over six numbers of workers, with a usable law, a refused one, verdicts and both kinds of latency.</summary>
    public static ResultFile Scaling()
    {
        int[] workers = [1, 2, 4, 8, 16, 32];
        Random random = new(7);
        int order = 0;
        ArmRecord[] arms = [.. workers.SelectMany(n => new[] { Arm("channel", n, 90_000, random, ref order), Arm("lock", n, 40_000, random, ref order) })];
        return Frame("scale", arms) with
        {
            Fits =
            [
                Fit("channel", null),
                Fit("lock", "Fewer than 2 points lie below half the peak, so the rise was not measured."),
            ],
            Comparisons =
            [
                Comparison("lock x 1", "channel x 1", 0.44, Verdict.Slower),
                Comparison("lock x 2", "channel x 2", 1.01, Verdict.Equivalent),
                Comparison("lock x 4", "channel x 4", 1.31, Verdict.Faster),
                Comparison("lock x 8", "channel x 8", 0.97, Verdict.Inconclusive),
            ],
            Findings =
            [
                new Finding(FindingLevel.Doubt,
                    "Neighbours were active: the canary took up to 1.40 times as long as on a quiet machine. Trust the sign of a difference, not its size."),
                new Finding(
                    FindingLevel.Note, "A note with <b>markup</b> & an ampersand, and a_very_long_word_that_has_no_place_to_break_in_" + new string('x', 80)),
            ],
        };
    }

    /// <summary>One arm of some rounds, as <c>run</c> gives it.</summary>
    public static ResultFile Single()
    {
        Random random = new(5);
        int order = 0;
        return Frame("run", [Arm("channel", 8, 90_000, random, ref order)]);
    }

    /// <summary>Two arms that could not be told apart.</summary>
    public static ResultFile Undecided()
    {
        Random random = new(6);
        int order = 0;
        return Frame("compare", [Arm("cpu:grain=10us", 2, 90_000, random, ref order), Arm("cpu:grain=11us", 2, 88_000, random, ref order)]) with
        {
            Comparisons = [Comparison("cpu:grain=11us x 2", "cpu:grain=10us x 2", 0.981, Verdict.Inconclusive)],
        };
    }

    /// <summary>A run that was stopped and is invalid, with a single arm and little else.</summary>
    public static ResultFile Invalid() =>
        Frame("hash", [new ArmRecord { Name = "sync", Workers = 64, Rounds = [Round(1, 64, 20, 0.1) with { Problem = "the cache was not cold" }] }]) with
    {
        Partial = true,
        Findings = [new Finding(FindingLevel.Invalid, "sync x 64: the cache was not cold: 0 B of 1 GB came from the device (1 of 1 rounds).")],
    };

    private static ResultFile Frame(string command, ArmRecord[] arms) => new()
    {
        Command = command,
        Arguments = [command, "channel,lock", "--workers", "1,2,4,8,16,32", "--out", "a directory"],
        Work = "a channel and a lock",
        Unit = "operations",
        StartedAt = DateTimeOffset.Parse("2026-01-02T03:04:05Z", CultureInfo.InvariantCulture),
        Seconds = 77,
        Machine = new MachineRecord
        {
            Cpu = "A processor with a rather long name @ 3.00GHz",
            Cores = 2,
            Os = "An operating system 12",
            Architecture = "x64",
            MemoryBytes = 1L << 34,
            Dotnet = "10.0.0",
            Gc = "workstation, concurrent",
            Variables = new Dictionary<string, string> { ["DOTNET_gcServer"] = "0" },
            Hash = "abc123",
        },
        Source = new SourceRecord("0123456789abcdef0123456789abcdef01234567", Clean: false),
        Settings = new Dictionary<string, string> { ["rounds"] = "6" },
        Arms = arms,
    };

    private static ArmRecord Arm(string name, int workers, double lambda, Random random, ref int order)
    {
        List<RoundRecord> rounds = [];
        for (int i = 0; i < 6; i++)
        {
            double rate = lambda * workers / (1 + (0.05 * (workers - 1)) + (0.004 * workers * (workers - 1))) * (0.95 + (random.NextDouble() / 10));
            rounds.Add(Round(++order, workers, rate, random.NextDouble()));
        }

        return new ArmRecord { Name = name, Workers = workers, Rounds = rounds };
    }

    private static RoundRecord Round(int order, int workers, double rate, double noise)
    {
        LatencyHistogram service = new();
        LatencyHistogram response = new();
        for (int i = 1; i <= 2000; i++)
        {
            service.Record(20_000 + (i * 37));
            response.Record(i > 1900 ? i * 250_000L : 20_000 + (i * 37));
        }

        return new RoundRecord
        {
            Order = order,
            Operations = (long)rate,
            Seconds = 1,
            Rate = rate,
            CpuUserSeconds = 1.2,
            CpuSystemSeconds = 0.3,
            AllocatedBytes = 123_456,
            Gen0 = 3,
            PoolThreads = 4,
            Open = workers * 0.9,
            OpenMax = workers,
            InFlight = Math.Min(workers, 3) * 0.8,
            InFlightMax = Math.Min(workers, 4),
            Service = HistogramCodec.Encode(service),
            Response = HistogramCodec.Encode(response),
            LateStarts = 100,
            Dropped = 1,
            PerWorker = [.. Enumerable.Range(0, workers).Select(i => 1000L + (i * 31))],
            LongestGapSeconds = 0.5,
            CanarySlowness = 1 + (noise / 3),
            CanaryVariation = 0.02,
            Timeline = [.. Enumerable.Range(1, 30).Select(i => new TimelineRecord(i / 30.0, rate * (0.8 + (i % 5 / 10.0)), i % 7, 2 + (i / 10)))],
        };
    }

    private static FitRecord Fit(string name, string? refused) => new()
    {
        Name = name,
        Lambda = new Interval(90_000, 88_000, 92_000),
        Sigma = new Interval(0.05, 0.04, 0.06),
        Kappa = new Interval(0.004, 0.003, 0.005),
        PeakWorkers = refused is null ? 15.4 : null,
        PeakRate = refused is null ? 520_000 : null,
        RSquared = 0.987,
        Refused = refused,
    };

    private static ComparisonRecord Comparison(string arm, string against, double ratio, Verdict verdict) => new()
    {
        Arm = arm,
        Against = against,
        Ratio = ratio,
        Low = ratio * 0.97,
        High = ratio * 1.03,
        P = 0.002,
        Margin = 0.03,
        Alpha = 0.01,
        Verdict = verdict,
    };
}
