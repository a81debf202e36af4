using BenchmarkDotNet.Attributes;
using Weir.Lab.Latency;
using Weir.Lab.Suites.Catalog;
using Weir.Lab.Suites.Checking;
using Weir.Lab.Suites.Figures;
using Weir.Tables.Page;
using Weir.Tables.Ratios;
using Weir.TestKit;

namespace Weir.Lab.Suites.Tests;

public class StuckArmTests
{
    [Fact(Timeout = 300_000)]
    public async Task MeasureAsync_ArmStandsStillInTheWarmUp_IsMeasuredAllTheSame()
    {
        StandsStill suite = new() { IsStuck = static run => run == 2 };
        List<string> told = [];
        CaseResult result = await MeasureAsync(suite, rounds: 3, told);
        Assert.Equal(3, result["Stuck"].Samples.Count);
        Assert.Equal(3, result["Baseline"].Samples.Count);
        Assert.Equal(["Stuck 10"], told);
        Assert.Contains("- Stuck did not complete in 10 s, once: left out; rounds 3 of 3\n", SuiteTable.Render("Here.", [result]), StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task MeasureAsync_ArmStandsStillInTwoRounds_IsLeftOutThere()
    {
        StandsStill suite = new();
        List<string> told = [];

        // Rounds go there and back, each pair beginning with another arm: warm-up B S, then B S, S B, S B. Between the first and the second turn of the
        // baseline are the first two of the other. From the fourth round on, an arm that takes long has fewer, by the machine's own clock.
        suite.IsStuck = _ => suite.BaselineTurns == 1;
        CaseResult result = await MeasureAsync(suite, rounds: 3, told);
        Assert.Equal(3, result["Baseline"].Samples.Count);
        Assert.Equal([2], result["Stuck"].Samples.Select(static sample => sample.Round));
        Assert.Equal(2, told.Count);
        Assert.Contains("- Stuck did not complete in 10 s, 2 times: left out; rounds 1 of 3\n", SuiteTable.Render("Here.", [result]), StringComparison.Ordinal);
        Assert.DoesNotContain("not judged", SuiteTable.Render("Here.", [result]), StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task MeasureAsync_ArmNeverCompletes_IsGivenUpAndNotJudged()
    {
        StandsStill suite = new() { IsStuck = static _ => true };
        List<string> told = [];
        CaseResult result = await MeasureAsync(suite, rounds: 3, told);
        Assert.Equal(Sampler.MostStuck, told.Count);
        Assert.Equal(Sampler.MostStuck, suite.Runs);
        string page = SuiteTable.Render("Here.", [result]);
        Assert.Contains("|  | Stuck | none | | | | | | | | 0 |\n", page, StringComparison.Ordinal);
        Assert.Contains($"- Stuck did not complete in 10 s, {Sampler.MostStuck} times: left out; rounds 0 of 3\n", page, StringComparison.Ordinal);
        Assert.Contains("- Stuck takes at most 2x the time of Baseline: not judged, because there is no round to judge by", page, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_ArmStandsStillTwice_IsTriedAgain()
    {
        StandsStill suite = new() { IsStuck = static run => run <= 2 };
        await suite.SetupAsync();
        Assert.Equal(3, suite.Runs);
    }

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_ArmNeverCompletes_SaysSo()
    {
        StandsStill suite = new() { IsStuck = static _ => true };
        UnequalWorkException exception = await Assert.ThrowsAsync<UnequalWorkException>(suite.SetupAsync);
        Assert.Equal("StandsStill.Stuck was run 3 times and did not complete in 10 s, so it cannot be compared.", exception.Message);
    }

    [Fact(Timeout = 300_000)]
    public async Task MeasureAsync_ArmThrows_IsNotTakenForStuck()
    {
        StandsStill suite = new() { IsStuck = static _ => throw new InvalidOperationException("No.") };
        InvalidOperationException exception = await Assert.ThrowsAsync<InvalidOperationException>(() => MeasureAsync(suite, rounds: 1, []));
        Assert.Equal("No.", exception.Message);
    }

    private static Task<CaseResult> MeasureAsync(StandsStill suite, int rounds, List<string> told) =>
        new Sampler(rounds, (arm, patience) => told.Add($"{arm.Name} {patience.TotalSeconds}"))
            .MeasureAsync(new MeasuredCase(suite, "", Arm.Of(suite)));

    /// <summary>A suite whose second arm sometimes does not complete, and then it is ten seconds later at once.</summary>
    public class StandsStill : Suite
    {
        private readonly ManualTimeProvider _clock = new();
        private bool _ranSince;

        internal override TimeSpan Patience => TimeSpan.FromSeconds(10);

        internal override TimeProvider Clock => _clock;

        internal override IEnumerable<Goal> Goals => [Goal.TimeRatio(nameof(Stuck), nameof(Baseline), 2)];

        internal Func<int, bool> IsStuck { get; set; } = static _ => false;

        /// <summary>How often the second arm was run.</summary>
        internal int Runs { get; private set; }

        /// <summary>How often the baseline was run after the other arm.</summary>
        internal int BaselineTurns { get; private set; }

        [Benchmark(Baseline = true)]
        public Task<long[]> Baseline()
        {
            BaselineTurns += _ranSince ? 1 : 0;
            _ranSince = false;
            return Task.FromResult<long[]>([1]);
        }

        [Benchmark]
        public Task<long[]> Stuck()
        {
            _ranSince = true;
            if (!IsStuck(++Runs))
            {
                return Task.FromResult<long[]>([1]);
            }

            _clock.Advance(Patience);
            return new TaskCompletionSource<long[]>().Task;
        }

        private protected override long? ExpectedCalls(string category) => null;

        private protected override void Prepare(CallCounter? counter)
        {
            // Nothing depends on the parameters.
        }
    }
}
