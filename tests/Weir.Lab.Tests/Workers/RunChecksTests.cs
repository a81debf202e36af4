using Weir.Lab.Resources;
using Weir.Lab.Statistics;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>What makes a run invalid, and what is only said.</summary>
public class RunChecksTests
{
    private static readonly CanaryReading Quiet = new(1, 0.01, 0);
    private static readonly CanaryReading Noisy = new(1.5, 0.4, 3);

    [Fact]
    public void SoundRun_HasNeitherTroublesNorWarnings()
    {
        WorkerRun run = Run();

        Assert.Empty(RunChecks.Troubles(run));
        Assert.Empty(RunChecks.Warnings(run));
    }

    [Fact]
    public void CompilerAtWork_IsATrouble() => Assert.Contains(
        "12 methods were compiled during the measurement, for 5.0",
        Assert.Single(RunChecks.Troubles(Run(r => r with
        {
            Resources = r.Resources with { CompiledMethods = 12, CompilationTime = TimeSpan.FromSeconds(0.05) },
        }))),
        StringComparison.Ordinal);

    [Fact]
    public void CompilerAtWork_InARunThatWasGivenUp_IsNoTrouble() => Assert.Empty(RunChecks.Troubles(
        Run(static r => r with { Resources = r.Resources with { CompiledMethods = 12, CompilationTime = TimeSpan.FromSeconds(0.05) } }) with
        {
            IsStuck = true,
        }));

    [Theory]
    [InlineData(0.005, false, false)]
    [InlineData(0.05, false, true)]
    [InlineData(0.04, true, false)]
    [InlineData(0.06, true, true)]
    public void WasCompiling_MoreThanAHundredthOfTheRoundOrATwentiethOfATurn(double seconds, bool turns, bool expected)
    {
        WorkerRun run = Run(r => r with { Resources = r.Resources with { CompilationTime = TimeSpan.FromSeconds(seconds) } });

        Assert.Equal(expected, RunChecks.WasCompiling(run.Rounds[0], run.Spec with { TakesTurns = turns }));
    }

    [Theory]
    [InlineData(1, "1 round was repeated, because code was still being compiled in it.")]
    [InlineData(2, "2 rounds were repeated, because code was still being compiled in them.")]
    public void ColdRounds_AreSaid(int rounds, string said) =>
        Assert.Equal(said, Assert.Single(RunChecks.Warnings(Run() with { ColdRounds = rounds })).Text);

    [Theory]
    [InlineData(1_000, 150_000, false)]
    [InlineData(1_000, 250_000, true)]
    [InlineData(100, 900_000, false)]
    [InlineData(100, 1_100_000, true)]
    public void LateGenerator_ByMoreThanATenthOfTheInterval_IsATrouble(double rate, long lateness, bool isTrouble)
    {
        WorkerRun run = Run(r => r with { Pacing = new PacingResult(100, 0, 0, 0, lateness) }, rate);

        Assert.Equal(isTrouble, RunChecks.Troubles(run).Exists(static t => t.StartsWith("The generator was late", StringComparison.Ordinal)));
    }

    [Fact]
    public void UnfinishedOperations_AreATrouble() => Assert.Contains(
        "7 operations had not ended",
        Assert.Single(RunChecks.Troubles(Run(static r => r with { Pacing = new PacingResult(100, 0, 0, 7, 0) }, 100))),
        StringComparison.Ordinal);

    [Fact]
    public void TroublesOfARoundOrOfNothingDone_AreNotThoseOfTheWholeRun()
    {
        WorkerRun run = Run(static r => r with { Operations = 0, Troubles = ["It is wrong."] });

        Assert.Empty(RunChecks.Shared(run));
        Assert.Contains("Round 1: It is wrong.", RunChecks.Troubles(run));
        Assert.Single(RunChecks.Shared(Run(static r => r with { Pacing = new PacingResult(100, 0, 0, 7, 0) }, 100)));
    }

    [Fact]
    public void NothingDone_IsATrouble() =>
        Assert.Contains("No operation was completed in a measured window.", RunChecks.Troubles(Run(static r => r with { Operations = 0 })));

    [Fact]
    public void Neighbours_AreWarnedOf()
    {
        Assert.Contains("The machine was not quiet", Warning(static r => r with { Canary = Noisy }), StringComparison.Ordinal);
        Assert.Contains("The hypervisor gave 2.5", Warning(WithKernel(new SystemUse { Steal = TimeSpan.FromSeconds(0.1) })), StringComparison.Ordinal);
        Assert.Contains("used up in 4 periods", Warning(WithKernel(new SystemUse { ThrottledPeriods = 4 })), StringComparison.Ordinal);
    }

    [Fact]
    public void QuotaBelowTheProcessors_IsWarnedOf()
    {
        WorkerRun run = Run();

        Assert.Contains(
            "may use 1.5 processors, fewer than the 4",
            Assert.Single(RunChecks.Warnings(run with { CpuQuota = 1.5 })).Text,
            StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("150000 100000", 1.5)]
    [InlineData("max 100000", null)]
    [InlineData(null, null)]
    public void Quota_OfTheControlGroup_IsRead(string? line, double? quota) => Assert.Equal(quota, MachineInfo.QuotaOf(line));

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_DisturbedCanary_RepeatsTheRoundWhateverItsResult()
    {
        // Before and after the first round, after the repeated one, and so on: the second reading is disturbed.
        Queue<CanaryReading> readings = new([Quiet, Noisy, Quiet, Quiet, Quiet]);
        WorkerRunSpec spec = new()
        {
            Workload = "test",
            Rounds = 2,
            Duration = TimeSpan.FromMilliseconds(20),
            LongestWarmUp = TimeSpan.Zero,
        };

        WorkerRun run = await new WorkerRunner(spec, null, () => readings.TryDequeue(out CanaryReading reading) ? reading : Quiet)
            .RunAsync(new Workload("noop", static _ => Operation.Of(static () => { }))).WithinAsync("the run");

        Assert.Equal(2, run.Rounds.Count);
        Assert.Equal(2, run.Repeats);
        Assert.All(run.Rounds, static r => Assert.True(r.Canary.IsQuiet));
        Assert.Contains(run.Warnings, static w => w.Text.StartsWith("2 rounds were repeated", StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_CanaryThatIsNeverQuiet_EndsAllTheSame()
    {
        WorkerRunSpec spec = new()
        {
            Workload = "test",
            Rounds = 2,
            Duration = TimeSpan.FromMilliseconds(20),
            LongestWarmUp = TimeSpan.Zero,
            MostRepeats = 1,
        };

        WorkerRun run = await new WorkerRunner(spec, null, static () => Noisy)
            .RunAsync(new Workload("noop", static _ => Operation.Of(static () => { }))).WithinAsync("the run");

        Assert.Equal((2, 1), (run.Rounds.Count, run.Repeats));
        Assert.Contains(run.Warnings, static w => w.Text.StartsWith("The machine was not quiet", StringComparison.Ordinal));
    }

    [Fact]
    public void MachineLock_Taken_IsNotTakenAgainUntilGivenBack()
    {
        string path = Path.Combine(Path.GetTempPath(), $"weir-lab-{Guid.NewGuid():N}.lock");
        try
        {
            using (MachineLock? first = MachineLock.TryTake(path))
            {
                Assert.NotNull(first);
                Assert.Null(MachineLock.TryTake(path));
            }

            using MachineLock? again = MachineLock.TryTake(path);
            Assert.NotNull(again);
        }
        finally
        {
            File.Delete(path);
        }
    }

    private static Func<WorkerRound, WorkerRound> WithKernel(SystemUse use) => r => r with { Resources = r.Resources with { Kernel = use } };

    private static string Warning(Func<WorkerRound, WorkerRound> change) => Assert.Single(RunChecks.Warnings(Run(change))).Text;

    [Theory]
    [InlineData(-0.01, "The rate fell by 1.0")]
    [InlineData(0.01, "The rate rose by 1.0")]
    [InlineData(0, null)]
    [InlineData(-0.002, null)]
    public void RateThatDrifts_IsSaid(double slope, string? said)
    {
        Random random = new(3);
        WorkerRun run = Run() with
        {
            Rounds = [.. Enumerable.Range(0, 10).Select(i => Run(r => r with
            {
                StartSecond = i * 1.3,
                Rate = 100 * Math.Exp((slope * i * 1.3) + (0.005 * Noise.Normal(random))),
            }).Rounds[0])],
        };

        IEnumerable<string> drifts = RunChecks.Warnings(run).Where(static w => w.Cause == RunCause.Drift).Select(static w => w.Text);

        if (said is null)
        {
            Assert.Empty(drifts);
        }
        else
        {
            Assert.StartsWith(said, Assert.Single(drifts), StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData(500, 4, 0.1, true)]
    [InlineData(3, 4, 0.1, false)]
    [InlineData(500, 4, 3.9, false)]
    public void WorkThatWaitsForThreadsOfThePoolWhileProcessorsAreIdle_IsSaid(long pending, int threads, double cores, bool isSaid)
    {
        WorkerRun run = Run(r => r with
        {
            Resources = r.Resources with { PoolPending = pending, PoolThreads = threads, CpuUser = TimeSpan.FromSeconds(cores) },
        });

        string[] said = [.. RunChecks.Warnings(run).Where(static w => w.Cause == RunCause.StarvedPool).Select(static w => w.Text)];

        Assert.Equal(isSaid ? 1 : 0, said.Length);
        Assert.All(said, static s => Assert.StartsWith(
            "The pool is starved: up to 500 work items waited for its 4 threads, which used 0.1 of 4 processors.", s, StringComparison.Ordinal));
    }

    // Neighbours take up to two thirds of the processors; the rate follows what they leave.
    [Theory]
    [InlineData(-0.01, 1)]
    [InlineData(0, 0)]
    public void RateThatDriftsBesideNeighbours_IsSaid(double slope, int said)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only there is the room known.");
        Random random = new(3);
        WorkerRun run = Run() with
        {
            Rounds = [.. Enumerable.Range(0, 10).Select(i =>
            {
                double room = 0.35 + (0.6 * random.NextDouble());
                return Run(r => r with
                {
                    StartSecond = i * 1.3,
                    Rate = 100 * room * Math.Exp((slope * i * 1.3) + (0.005 * Noise.Normal(random))),
                    Resources = r.Resources with
                    {
                        Elapsed = TimeSpan.FromSeconds(1),
                        CpuUser = TimeSpan.FromSeconds(room * (SystemUse.MachineProcessors ?? 1)),
                        Kernel = r.Resources.Kernel with { Idle = TimeSpan.Zero },
                    },
                }).Rounds[0];
            })],
        };

        Assert.Equal(said, RunChecks.Warnings(run).Count(static w => w.Cause == RunCause.Drift));
    }

    [Fact]
    public void RateWithNoiseOnly_HasHardlyEverADrift()
    {
        int said = Enumerable.Range(0, 1_000).Count(seed =>
        {
            Random random = new(seed);
            WorkerRun run = Run() with
            {
                Rounds =
                    [.. Enumerable.Range(0, 10).Select(i => Run(r => r with { StartSecond = i, Rate = 100 * Math.Exp(0.1 * Noise.Normal(random)) }).Rounds[0])],
            };
            return RunChecks.Warnings(run).Exists(static w => w.Cause == RunCause.Drift);
        });

        Assert.InRange(said, 0, 15);
    }

    private static WorkerRun Run(Func<WorkerRound, WorkerRound>? change = null, double? rate = null)
    {
        WorkerRound round = new()
        {
            Round = 1,
            StartSecond = 0,
            Seconds = 1,
            Operations = 100,
            Rate = 100,
            Executed = 110,
            Failures = 0,
            Groups = [new GroupResult("all", 1, 100, 100, 1, Fairness.Of([100]))],
            Workers = [new WorkerCount("all", 0, 100, 1, TimeSpan.Zero)],
            InFlight = new InFlightDepth(1, 1, false),
            Resources = default,
            BytesPerOperation = 0,
            Canary = Quiet,
        };
        return new WorkerRun
        {
            Spec = new WorkerRunSpec { Workload = "test", RatePerSecond = rate },
            Cores = 4,
            Started = DateTimeOffset.UnixEpoch,
            Rounds = [change?.Invoke(round) ?? round],
            CanaryAfter = Quiet,
            WasSteady = true,
        };
    }
}
