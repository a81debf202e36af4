using System.Reflection.Emit;
using System.Runtime;
using Weir.Lab.Results;
using Weir.Lab.Trials;
using Weir.TestKit;

namespace Weir.Lab.Tests;

public class TrialRunnerTests
{
    private readonly ManualTimeProvider _time = new();

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_ShortPasses_RepeatsThemUntilTheWindowIsLongEnough()
    {
        TrialArm arm = ArmOf("a", TimeSpan.FromMilliseconds(30), items: 10);

        TrialReport report = await RunnerOf(trials: 2, TimeSpan.FromMilliseconds(100)).RunAsync([arm]);

        ArmRecord result = Assert.Single(report.Arms);
        Assert.Equal(2, result.Rounds.Count);
        Assert.All(result.Rounds, static round =>
        {
            Assert.Equal(4, round.Passes);
            Assert.Equal(40, round.Operations);
            Assert.Equal(0.12, round.Seconds);
            Assert.False(round.Partial);
        });
        Assert.Equal(40 / 0.12, result.Rate().Median, 6);
        Assert.False(report.IsPartial);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_TinyPasses_OvershootsTheWindowByLittle()
    {
        TrialArm arm = ArmOf("a", TimeSpan.FromMicroseconds(1), items: 1);

        TrialReport report = await RunnerOf(trials: 1, TimeSpan.FromMilliseconds(10)).RunAsync([arm]);

        Assert.InRange(report.Arms[0].Rounds[0].Seconds, 0.010, 0.0105);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_SeveralArms_TakesThemInTurnsInTheOrderOfTheRounds()
    {
        List<string> order = [];
        TrialArm[] arms = [.. "abc".Select(name => ArmOf(name.ToString(), TimeSpan.FromMilliseconds(1), items: 1, () => order.Add(name.ToString())))];

        TrialReport report = await RunnerOf(trials: 3, TimeSpan.Zero).RunAsync(arms);

        Assert.Equal("abc cba bca".Replace(" ", "", StringComparison.Ordinal), string.Concat(order));
        Assert.Equal("abc cba bca".Replace(" ", "", StringComparison.Ordinal), string.Concat(
            report.Arms.SelectMany(static a => a.Rounds, static (a, r) => (a.Name, r.Order)).OrderBy(static x => x.Order).Select(static x => x.Name)));
        Assert.Equal(Enumerable.Range(1, 9), report.Arms.SelectMany(static a => a.Rounds).Select(static r => r.Order).Order());
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_WrongCount_ThrowsWithTheArmAndBothCounts()
    {
        TrialArm arm = new("lossy", new PassResult(10, 1), static _ => new ValueTask<PassResult>(new PassResult(9, 1) { Trouble = "one is gone" }));

        WrongResultException error = await Assert.ThrowsAsync<WrongResultException>(() => RunnerOf(1, TimeSpan.Zero).RunAsync([arm]));

        Assert.Equal("lossy", error.ArmName);
        Assert.Equal("The results are wrong: lossy accounted for 9 items instead of 10 (one is gone).", error.Message);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_WrongChecksum_Throws()
    {
        TrialArm arm = new("liar", new PassResult(10, 1), static _ => new ValueTask<PassResult>(new PassResult(10, 2)));

        WrongResultException error = await Assert.ThrowsAsync<WrongResultException>(() => RunnerOf(1, TimeSpan.Zero).RunAsync([arm]));

        Assert.Equal("The results are wrong: liar gave the checksum 0000000000000002 instead of 0000000000000001.", error.Message);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_WrongResultInALaterPass_ThrowsToo()
    {
        int passes = 0;
        TrialArm arm = new("late", new PassResult(1, 1), _ =>
        {
            _time.Advance(TimeSpan.FromMilliseconds(1));
            return new ValueTask<PassResult>(new PassResult(1, ++passes == 50 ? 0 : 1));
        });

        await Assert.ThrowsAsync<WrongResultException>(() => RunnerOf(1, TimeSpan.FromSeconds(1)).RunAsync([arm]));
        Assert.Equal(50, passes);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_StoppedWithinAPass_ReportsWhatWasDoneAsPartial()
    {
        using CancellationTokenSource stop = new();
        long done = 0;
        TrialArm fast = ArmOf("fast", TimeSpan.FromMilliseconds(10), items: 5);
        TrialArm slow = new("slow", new PassResult(100, 0), token =>
        {
            done += 40;
            _time.Advance(TimeSpan.FromMilliseconds(20));
            stop.Cancel();
            token.ThrowIfCancellationRequested();
            return new ValueTask<PassResult>(new PassResult(100, 0));
        })
        { ItemsDone = () => done };

        TrialReport report = await RunnerOf(trials: 2, TimeSpan.Zero).RunAsync([fast, slow], stop.Token);

        Assert.True(report.IsPartial);
        Assert.False(Assert.Single(report.Arms[0].Rounds).Partial);
        RoundRecord partial = Assert.Single(report.Arms[1].Rounds);
        Assert.True(partial.Partial);
        Assert.Equal((0, 40, null), (partial.Passes, partial.Operations, partial.Checksum));
        Assert.Equal(2000, report.Arms[1].OrPart().Rate().Median, 6);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_StoppedBetweenPasses_KeepsThemAsAPartialWindow()
    {
        using CancellationTokenSource stop = new();
        TrialArm arm = ArmOf("a", TimeSpan.FromMilliseconds(10), items: 5, stop.Cancel);

        TrialReport report = await RunnerOf(trials: 2, TimeSpan.FromSeconds(1)).RunAsync([arm], stop.Token);

        RoundRecord round = Assert.Single(report.Arms[0].Rounds);
        Assert.True(round.Partial);
        Assert.Equal((1, 5, "0000000000000007"), (round.Passes, round.Operations, round.Checksum));
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_StoppedBefore_MeasuresNothing()
    {
        TrialReport report = await RunnerOf(trials: 1, TimeSpan.Zero).RunAsync(
            [ArmOf("a", TimeSpan.FromMilliseconds(1), items: 1)], new CancellationToken(canceled: true));

        Assert.True(report.IsPartial);
        Assert.Empty(report.Arms[0].Rounds);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_SteadyWarmUp_EndsBeforeItsTimeIsOver()
    {
        int warmUps;
        long compiled;

        // A warm-up is not steady while code is compiled, and the code of other tests counts too.
        do
        {
            compiled = JitInfo.GetCompiledMethodCount();
            warmUps = await CountWarmUpsAsync(static _ => TimeSpan.FromMilliseconds(50));
        }
        while (compiled != JitInfo.GetCompiledMethodCount());

        Assert.InRange(warmUps, 4, 19);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_WarmUpThatNeverGetsSteady_EndsWhenItsTimeIsOver()
    {
        // Each pass takes a quarter less than the one before, and then starts over.
        int warmUps = await CountWarmUpsAsync(static pass => TimeSpan.FromMilliseconds(100 * Math.Pow(0.75, pass % 3)));

        Assert.InRange(warmUps, 10, 20);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_Observer_HearsEachStepInItsPlace()
    {
        Recorder recorder = new();
        TrialOptions options = new() { Trials = 1, MinimumWindow = TimeSpan.Zero, CompilerPatience = TimeSpan.Zero, TimeProvider = _time };
        TrialRunner runner = new(options, recorder);

        await runner.RunAsync([ArmOf("a", TimeSpan.FromMilliseconds(1), 1), ArmOf("b", TimeSpan.FromMilliseconds(1), 1)]);

        Assert.Equal(["0 of 4: a 0", "-", "1 of 4: b 0", "-", "2 of 4: a 1", "1 items", "3 of 4: b 1", "1 items"], recorder.Heard);
    }

    [Fact]
    public void RunAsync_NoArmsOrEqualNames_ThrowsAtTheCall()
    {
        TrialRunner runner = new();
        Assert.Throws<ArgumentException>(() => { _ = runner.RunAsync([]); });
        TrialArm arm = ArmOf("a", TimeSpan.Zero, 1);
        Assert.Throws<ArgumentException>(() => { _ = runner.RunAsync([arm, arm]); });
    }

    [Fact]
    public void Constructor_NoTrials_Throws() =>
        Assert.Throws<ArgumentOutOfRangeException>(static () => new TrialRunner(new TrialOptions { Trials = 0 }));

    private TrialRunner RunnerOf(int trials, TimeSpan window) =>
        new(new TrialOptions { Trials = trials, MinimumWindow = window, CompilerPatience = TimeSpan.Zero, TimeProvider = _time });

    private TrialArm ArmOf(string name, TimeSpan pass, int items, Action? also = null) => ArmOf(name, _ => pass, items, also);

    private TrialArm ArmOf(string name, Func<int, TimeSpan> length, int items, Action? also = null)
    {
        int pass = 0;
        return new TrialArm(name, new PassResult(items, 7), _ =>
        {
            _time.Advance(length(pass++));
            also?.Invoke();
            return new ValueTask<PassResult>(new PassResult(items, 7));
        });
    }

    [Theory(Timeout = 300_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task RunAsync_WarmUpThatCompilesCode_GoesOnUntilNothingIsCompiled(bool isPatient)
    {
        // A second has ten such windows. In the first 14, each pass calls code that is new.
        int warmUps = await CountWarmUpsAsync(
            static pass =>
            {
                if (pass < 14)
                {
                    DynamicMethod method = new("new", typeof(int), []);
                    ILGenerator code = method.GetILGenerator();
                    code.Emit(OpCodes.Ldc_I4, pass);
                    code.Emit(OpCodes.Ret);
                    Assert.Equal(pass, method.CreateDelegate<Func<int>>()());
                }

                return TimeSpan.FromMilliseconds(100);
            },
            isPatient ? TimeSpan.FromMinutes(1) : TimeSpan.Zero);

        Assert.InRange(warmUps, isPatient ? 16 : 4, isPatient ? int.MaxValue : 11);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task RunAsync_WindowInWhichCodeIsCompiled_IsMeasuredAgain(bool isPatient)
    {
        const int trials = 2;
        int passes = 0;
        TrialArm arm = new("a", new PassResult(1, 7), _ =>
        {
            _time.Advance(TimeSpan.FromMilliseconds(1));
            if (passes++ == 0)
            {
                DynamicMethod method = new("new", typeof(int), []);
                ILGenerator code = method.GetILGenerator();
                code.Emit(OpCodes.Ldc_I4_3);
                code.Emit(OpCodes.Ret);
                Assert.Equal(3, method.CreateDelegate<Func<int>>()());
            }

            return new ValueTask<PassResult>(new PassResult(1, 7));
        })
        { WarmUp = static _ => default };
        TrialOptions options = new()
        {
            Trials = trials, MinimumWindow = TimeSpan.Zero, LongestWarmUp = TimeSpan.Zero, TimeProvider = _time,
            CompilerPatience = isPatient ? TimeSpan.FromTicks(1) : TimeSpan.Zero,
        };

        TrialReport report = await new TrialRunner(options).RunAsync([arm]);

        Assert.Equal(trials, Assert.Single(report.Arms).Rounds.Count);

        // Code of other tests is compiled too, and three windows are measured again at most.
        Assert.InRange(passes, isPatient ? trials + 1 : trials, isPatient ? trials + 3 : trials);
    }

    private async Task<int> CountWarmUpsAsync(Func<int, TimeSpan> length, TimeSpan patience = default)
    {
        int warmUps = 0;
        TrialArm arm = new("a", default, static _ => default)
        {
            WarmUp = _ =>
            {
                _time.Advance(length(warmUps++));
                return default;
            },
        };
        TrialOptions options = new() { Trials = 1, MinimumWindow = TimeSpan.Zero, CompilerPatience = patience, TimeProvider = _time };
        await new TrialRunner(options).RunAsync([arm]);
        return warmUps;
    }

    private sealed class Recorder : ITrialObserver
    {
        public List<string> Heard { get; } = [];

        public void Started(TrialStep trialStep) => Heard.Add($"{trialStep.Index} of {trialStep.Count}: {trialStep.Arm.Name} {trialStep.Round}");

        public void Ended(TrialStep trialStep, RoundRecord? round) => Heard.Add(round is null ? "-" : $"{round.Operations} items");
    }
}
