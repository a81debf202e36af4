using System.Threading.Tasks.Sources;
using Weir.Lab.Statistics;
using Weir.Lab.Tests.Support;
using Weir.Lab.Trials;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>Windows of whole operations: a number of them, a set that is used up, or as many as begin within a time.</summary>
[Collection(AloneInTheProcess.Name)]
public class WholeOperationsTests
{
    private const int ArrayHeader = 24;
    private static byte[]? s_kept;

    [Theory(Timeout = 300_000)]
    [InlineData(false, 0)]
    [InlineData(false, 1000)]
    [InlineData(true, 0)]
    [InlineData(true, 1000)]
    public async Task Bytes_OfAWorkerThatIsAlone_AreThoseOfItsOperationsToTheByte(bool suspends, int bytes)
    {
        Suspension suspension = new();
        Workload workload = new("bytes", _ => Operation.OfAsync(() =>
        {
            s_kept = bytes == 0 ? null : new byte[bytes];
            return suspends ? suspension.Start() : default;
        }));

        WorkerRun run = await RunAsync(workload, new WholeOperations { Each = 3 }, workers: 1, rounds: 9);

        Assert.Equal(9, run.Rounds.Count);
        Assert.Equal(bytes == 0 ? 0 : bytes + ArrayHeader, Spread.Of(run.Rounds.Select(static r => r.BytesPerOperation)).Median);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(1, false)]
    [InlineData(4, false)]
    [InlineData(1, true)]
    [InlineData(4, true)]
    public async Task Together_ManyWorkers_DoEachOperationOnce(int workers, bool isAsync)
    {
        long done = 0;
        Workload workload = new("set", _ => isAsync
            ? Operation.OfAsync(async ValueTask<long> () =>
            {
                await Task.Yield();
                return Interlocked.Increment(ref done);
            })
            : Operation.Of(() => Interlocked.Increment(ref done)));

        WorkerRun run = await RunAsync(workload, new WholeOperations { Together = 1_000 }, workers, rounds: 2);

        Assert.Equal(2_000, done);
        Assert.All(run.Rounds, static r => Assert.Equal(1_000, r.Operations));
        Assert.All(run.Rounds, static r => Assert.Equal(1_000, r.Workers.Sum(static w => w.Operations)));
        Assert.False(run.IsPartial);
    }

    [Fact(Timeout = 300_000)]
    public async Task Together_StoppedBeforeItIsUsedUp_IsPartial()
    {
        using CancellationTokenSource stop = new();
        long done = 0;
        Workload workload = new("set", _ => Operation.Of(() =>
        {
            if (Interlocked.Increment(ref done) == 10)
            {
                stop.Cancel();
            }
        }));

        WorkerRun run = await RunAsync(workload, new WholeOperations { Together = 1_000_000_000 }, workers: 2, rounds: 2, stop.Token);

        Assert.True(Assert.Single(run.Rounds).IsPartial);
        Assert.True(run.IsPartial);
    }

    [Fact(Timeout = 300_000)]
    public async Task FailsFast_OperationThrows_EndsTheRunWithIt()
    {
        long begun = 0;
        Workload workload = new("fails", _ => Operation.Of(() => Interlocked.Increment(ref begun) == 5 ? throw new InvalidDataException("No.") : 1));

        InvalidDataException error = await Assert.ThrowsAsync<InvalidDataException>(
            () => RunAsync(workload, new WholeOperations { Each = 1_000 }, workers: 1, rounds: 3, failsFast: true));

        Assert.Equal("No.", error.Message);
        Assert.Equal(5, begun);
    }

    [Fact(Timeout = 300_000)]
    public void Run_OperationThatNeverEnds_IsGivenUpByTheClockThatWaits()
    {
        ManualTimeProvider clock = new();
        TaskCompletionSource never = new();
        int calls = 0;
        Workload workload = new("stuck", _ => Operation.OfAsync(() =>
        {
            if (Interlocked.Increment(ref calls) < 3)
            {
                return Task.CompletedTask;
            }

            clock.Advance(TimeSpan.FromSeconds(10));
            return never.Task;
        }));
        WindowPlan plan = WindowPlan.OfOne(1, 1, new WholeOperations { Each = 5 }) with { Patience = (TimeSpan.FromSeconds(10), clock) };

        WindowOutcome outcome = WindowRunner.Run(new WorkerRunSpec { Workload = "stuck", MeasuresLatency = false }, workload, plan, CancellationToken.None);
        never.SetResult();

        Assert.True(outcome.IsStuck);
        Assert.True(outcome.IsPartial);
        Assert.Equal("A worker did not end its last operation within 10 s.", Assert.Single(outcome.Troubles));
        Assert.Equal(3, calls);
    }

    [Fact]
    public void Validate_NoneOrTwoOfThree_IsRefused()
    {
        Assert.Throws<ArgumentException>(static () => Spec(new WholeOperations()).Validate());
        Assert.Throws<ArgumentException>(static () => Spec(new WholeOperations { Each = 1, Together = 1 }).Validate());
        Assert.Throws<ArgumentOutOfRangeException>(static () => Spec(new WholeOperations { Each = 0 }).Validate());
        Assert.Throws<ArgumentException>(static () => (Spec(new WholeOperations { Each = 1 }) with { RatePerSecond = 1 }).Validate());
    }

    [Fact(Timeout = 300_000)]
    public async Task TrialRunner_PassOfKnownBytes_CountsThemAlone()
    {
        Suspension suspension = new();
        TrialArm arm = new("bytes", new PassResult(1, 1), async _ =>
        {
            await suspension.Start();
            return new PassResult(1, 1);
        });
        TrialReport one = await new TrialRunner(new TrialOptions { Trials = 9, MinimumWindow = TimeSpan.Zero }).RunAsync([arm]);

        // The state machine of the pass itself and its task, which without optimization are two objects: nothing of the lab, whose readings alone are
        // thousands of bytes.
        Assert.InRange(Spread.Of(one.Arms[0].Rounds.Select(static r => (double)r.AllocatedBytes!)).Median, 1, 300);
    }

    private static WorkerRunSpec Spec(WholeOperations whole, int workers = 1, int rounds = 1) => new()
    {
        Workload = "whole",
        Groups = [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)],
        Whole = whole,
        Rounds = rounds,
        MostRepeats = 0,
        LongestWarmUp = TimeSpan.Zero,
        MeasuresLatency = false,
    };

    private static Task<WorkerRun> RunAsync(
        Workload workload, WholeOperations whole, int workers, int rounds, CancellationToken stop = default, bool failsFast = false) =>
        new WorkerRunner(Spec(whole, workers, rounds) with { FailsFast = failsFast }, null, static () => default).RunAsync(workload, stop);

    /// <summary>Suspends whoever awaits it until a thread of the pool comes by, and allocates nothing.</summary>
    private sealed class Suspension : IValueTaskSource, IThreadPoolWorkItem
    {
        private ManualResetValueTaskSourceCore<bool> _core;

        public ValueTask Start()
        {
            _core.Reset();
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
            return new ValueTask(this, _core.Version);
        }

        public void Execute() => _core.SetResult(true);

        public void GetResult(short token) => _core.GetResult(token);

        public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

        public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _core.OnCompleted(continuation, state, token, flags);
    }
}
