using System.Diagnostics;
using System.Threading.Channels;
using Weir.Lab.Statistics;
using Weir.Lab.Tests.Support;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

public class WorkerRunnerTests
{
    private long _counter;

    [Theory(Timeout = 300_000)]
    [InlineData(1)]
    [InlineData(3)]
    public async Task RunAsync_SyncWorkers_CountsEveryOperation(int workers)
    {
        object gate = new();
        Workload workload = new("lock", _ => Operation.Of(() =>
        {
            lock (gate)
            {
                return ++_counter;
            }
        }))
        { BeginRound = Restart, Verify = CheckCounter };

        WorkerRun run = await RunAsync(Spec(workers), workload);

        Assert.DoesNotContain(run.Troubles, static t => t.Contains("instead of", StringComparison.Ordinal));
        Assert.Equal(2, run.Rounds.Count);
        Assert.All(run.Rounds, round =>
        {
            Assert.Equal(workers, round.Workers.Count);
            Assert.InRange(round.Operations, 1, round.Executed);
            Assert.True(round.Rate > 0 && round.Service!.Count > 0);
            Assert.False(round.IsPartial);
            Assert.NotEmpty(round.Timeline);
        });
        Assert.False(run.IsPartial);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_FailuresInTheWarmUpOnly_AreReported()
    {
        Workload workload = new("cold", _ => Operation.Of(() =>
            Interlocked.Increment(ref _counter) > 2 ? 1 : throw new InvalidOperationException("The cache is cold.")));

        WorkerRun run = await RunAsync(Spec(1), workload);

        Assert.All(run.Rounds, static r => Assert.Equal(0, r.Failures));
        RunRemark remark = Assert.Single(run.Warnings, static w => w.Cause == RunCause.EarlyFailures);
        Assert.Equal("In the warm-up 2 operations failed, the first with InvalidOperationException: The cache is cold.", remark.Text);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(0.5, true)]
    [InlineData(0.1, false)]
    public async Task RunAsync_AToleratedShareOfFailures_IsCountedByKind(double most, bool isFine)
    {
        Workload workload = new("failing", _ => Operation.Of(() => (Interlocked.Increment(ref _counter) % 8) switch
        {
            0 => throw new TimeoutException("late"),
            1 => throw new InvalidOperationException("bad"),
            var other => other,
        }));

        // So many in each round, and not as many as a busy machine does in a time: with a few, there is not one of each kind, or the share is another.
        WorkerRun run = await RunAsync(Spec(1) with { MostFailures = most, Whole = new WholeOperations { Each = 80 } }, workload);

        Assert.All(run.Rounds, round =>
        {
            Assert.Equal(isFine, round.Troubles.Count == 0);
            Assert.Equal(round.Failures, round.FailureKinds.Values.Sum());
            Assert.Equal(["InvalidOperationException", "TimeoutException"], round.FailureKinds.Keys.Order(StringComparer.Ordinal));
        });
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_EveryShape_IsRunAndCounted()
    {
        (string Name, Func<WorkerContext, Operation> Create, bool IsAsync)[] shapes =
        [
            ("Action", _ => Operation.Of(() => { Interlocked.Increment(ref _counter); }), false),
            ("Func", _ => Operation.Of(() => Interlocked.Increment(ref _counter)), false),
            ("Task", _ => Operation.OfAsync(async Task () => await CountAsync()), true),
            ("Task<T>", _ => Operation.OfAsync(CountAsync), true),
            ("ValueTask", _ => Operation.OfAsync(async ValueTask () => await CountAsync()), true),
            ("ValueTask<T>", _ => Operation.OfAsync(() => new ValueTask<long>(Interlocked.Increment(ref _counter))), true),
        ];
        foreach ((string name, Func<WorkerContext, Operation> create, bool isAsync) in shapes)
        {
            Workload workload = new(name, c =>
            {
                Operation operation = create(c);
                Assert.Equal(isAsync, operation.IsAsync);
                return operation;
            })
            { BeginRound = Restart, Verify = CheckCounter };

            WorkerRun run = await RunAsync(Spec(2) with { Rounds = 1 }, workload);

            Assert.DoesNotContain(run.Troubles, static t => t.Contains("instead of", StringComparison.Ordinal));
            Assert.True(run.Rounds[0].Operations > 0, name);
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_OperationsThatNeedEachOther_FindAllWorkersThere()
    {
        // Nobody gets through unless all four are inside: on fewer threads, or one after the other, nothing would ever complete.
        const int workers = 4;
        using Barrier barrier = new(workers);
        Workload workload = new("barrier", c => Operation.Of(() => barrier.SignalAndWait(c.Stopping)))
        {
            // A stopped wait leaves the barrier with those that had come; it starts anew with each round.
            BeginRound = () =>
            {
                barrier.RemoveParticipants(workers);
                barrier.AddParticipants(workers);
            },
        };

        WorkerRun run = await RunAsync(Spec(workers) with { Rounds = 1 }, workload);

        WorkerRound round = Assert.Single(run.Rounds);
        Assert.All(round.Workers, static w => Assert.True(w.Operations > 0));

        // In step, but for the batch in which the window begins and the one in which it ends: a thread that is held up there counts neither, or both.
        long batch = Assert.Single(round.Groups).SampleEvery;
        Assert.InRange(round.Workers.Max(static w => w.Operations) - round.Workers.Min(static w => w.Operations), 0, 2 * batch);
        Assert.Equal(0, round.Failures);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task RunAsync_ManyAsyncLoops_HoldNoThreadsAndAllTakePart()
    {
        const int loops = 300;
        WorkerRun run = await RunAsync(
            Spec(loops) with { Rounds = 1, Duration = TimeSpan.FromMilliseconds(200) },
            new Workload("yield", static _ => Operation.OfAsync(static async Task () => await Task.Yield())));

        WorkerRound round = Assert.Single(run.Rounds);
        Assert.Equal(loops, round.Workers.Count(static w => w.Operations > 0));
        Assert.True(round.Timeline.Max(static t => t.PoolThreads) < loops);
        Assert.True(round.Service!.Count >= loops);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_LoopsThatNeverSuspend_TakeTurnsOnThePool()
    {
        int loops = (Environment.ProcessorCount * 2) + 3;
        WorkerRun run = await RunAsync(
            Spec(loops) with { Rounds = 1 }, new Workload("completed", static _ => Operation.OfAsync(static () => default(ValueTask))));

        Assert.DoesNotContain(run.Troubles, static t => t.Contains("did not", StringComparison.Ordinal));
        Assert.Equal(loops, run.Rounds[0].Workers.Count(static w => w.Operations > 0));
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_Groups_AreCountedApartAndWaitersAreStopped()
    {
        Channel<int> channel = Channel.CreateBounded<int>(64);
        long received = 0;
        Workload workload = new("channel", c => c.Group == "producers"
            ? Operation.OfAsync(async ValueTask () =>
            {
                // Not WriteAsync nor ReadAsync, which may lose an item when their token is cancelled (dotnet/runtime, issue 132094).
                while (!channel.Writer.TryWrite(1))
                {
                    await channel.Writer.WaitToWriteAsync(c.Stopping);
                }
            })
            : Operation.OfAsync(async ValueTask<int> () =>
            {
                int item;
                while (!channel.Reader.TryRead(out item))
                {
                    await channel.Reader.WaitToReadAsync(c.Stopping);
                }

                Interlocked.Increment(ref received);
                return item;
            }))
        {
            BeginRound = () =>
            {
                while (channel.Reader.TryRead(out _))
                {
                }

                received = 0;
            },
            Verify = t => t.Executed["consumers"] == Interlocked.Read(ref received)
                && t.Executed["producers"] == received + channel.Reader.Count
                ? null
                : $"{t.Executed["producers"]} written, {received} received instead of all but {channel.Reader.Count}",
        };

        WorkerRun run = await RunAsync(
            Spec(1) with { Rounds = 1, Groups = [new WorkerGroup("producers", 1), new WorkerGroup("consumers", 7)] }, workload);

        Assert.DoesNotContain(run.Troubles, static t => t.Contains("written", StringComparison.Ordinal));
        Assert.Equal([("producers", 1), ("consumers", 7)], run.Rounds[0].Groups.Select(static g => (g.Name, g.Workers)));
        Assert.All(run.Rounds[0].Groups, static g => Assert.True(g.Operations > 0));
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_WrongResultOrFailure_IsATrouble()
    {
        WorkerRun wrong = await RunAsync(
            Spec(1) with { Rounds = 1 }, new Workload("w", static _ => Operation.Of(static () => { })) { Verify = static _ => "It is wrong." });
        WorkerRun failing = await RunAsync(
            Spec(2) with { Rounds = 1 }, new Workload("f", static _ => Operation.Of(static () => throw new TestException("boom"))));

        Assert.Contains("Round 1: It is wrong.", wrong.Troubles);
        Assert.Contains(failing.Troubles, static t => t.Contains("the first with TestException: boom", StringComparison.Ordinal));
        Assert.True(failing.Rounds[0].Failures > 0);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_Stopped_IsPartialAndCleansUp()
    {
        using CancellationTokenSource stop = new();
        StoppingWorkload workload = new(stop);

        // A round would last five minutes.
        WorkerRunSpec spec = Spec(2) with { Rounds = 50, Duration = TimeSpan.FromMinutes(5) };
        WorkerRun run = await new WorkerRunner(spec, workload).RunAsync(workload, stop.Token).WithinAsync("the run");

        Assert.True(run.IsPartial);
        Assert.True(workload.IsClean);
        Assert.Single(run.Rounds);
        Assert.Empty(run.Rates);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_MixedGroup_Throws() => await Assert.ThrowsAsync<ArgumentException>(() => RunAsync(
        Spec(2),
        new Workload("mixed", static c => c.Worker == 0 ? Operation.Of(static () => { }) : Operation.OfAsync(static () => Task.CompletedTask))));

    [Theory]
    [InlineData(2_000, 1)]
    [InlineData(1_999, 8)]
    [InlineData(10, 1_024)]
    [InlineData(0.5, 4_096)]
    [InlineData(0, 1)]
    public void BatchOf_ShortOperations_TimesOneInABatchOfTenMicroseconds(double nanoseconds, int batch) =>
        Assert.Equal(batch, WindowOutcome.BatchOf(nanoseconds));

    [Theory]
    [InlineData(12, 10, 40L, 1_024)] // A window like any other.
    [InlineData(40, 10, 40L, 1_024)] // It had a third of a processor.
    [InlineData(100, 10, 40L, 512)] // It had less: the next one tells more.
    [InlineData(20, 30, 50L, 512)] // What was quick was none of the others.
    [InlineData(5_000, 10, 500L, 4)] // Most are short: it is the window that was not.
    [InlineData(5_000, 10, 4_000L, 1)] // Most are long.
    [InlineData(5_000, 10, null, 1)]
    [InlineData(20, 0, null, 512)] // No batch ended.
    public void BatchOf_WindowThatOthersDisturbed_IsThatOfAnUndisturbedOne(double mean, double quickest, long? median, int batch)
    {
        GroupResult group = new("all", 2, 1, 2e9 / mean, 1, Fairness.Of([1, 1], TimeSpan.Zero)) { Quickest = quickest };

        Assert.Equal(batch, WindowOutcome.BatchOf(group, median));
    }

    [Fact]
    public void Quickest_OfAWindow_IsAnOperationOfItsShortestBatch()
    {
        WindowOutcome outcome = SimulatedWindow.Run(TimeSpan.FromMilliseconds(10), 2, 64, static (worker, count) => count * (worker == 0 ? 100 : 20));

        Assert.Equal(20, Assert.Single(outcome.Groups()).Quickest);
    }

    private static WorkerRunSpec Spec(int workers) => new()
    {
        Workload = "test",
        Groups = [new WorkerGroup("all", workers)],
        Rounds = 2,
        Duration = TimeSpan.FromMilliseconds(100),

        // Nothing here depends on the rate, so neither warmth nor a quiet machine is waited for.
        LongestWarmUp = TimeSpan.Zero,
        MostRepeats = 0,

        // Nor is a worker given up that is held up: the limit of the whole run is enough.
        DrainLimit = TimeSpan.FromHours(1),
    };

    private static Task<WorkerRun> RunAsync(WorkerRunSpec spec, IWorkload workload, CancellationToken cancellationToken = default) =>
        new WorkerRunner(spec).RunAsync(workload, cancellationToken).WithinAsync("the run");

    private void Restart() => Interlocked.Exchange(ref _counter, 0);

    private string? CheckCounter(RoundTotals round) =>
        Interlocked.Read(ref _counter) is var counter && counter == round.AllExecuted ? null : $"{counter} instead of {round.AllExecuted}";

    private async Task<long> CountAsync()
    {
        await Task.Yield();
        return Interlocked.Increment(ref _counter);
    }

    private sealed class StoppingWorkload(CancellationTokenSource stop) : IWorkload, IRunObserver
    {
        private bool _isMeasuring;

        public string Name => "stopping";

        public bool IsClean { get; private set; }

        public Operation CreateOperation(WorkerContext context) => Operation.Of(() =>
        {
            if (Volatile.Read(ref _isMeasuring) && !stop.IsCancellationRequested)
            {
                stop.Cancel();
            }
        });

        public ValueTask CleanupAsync()
        {
            IsClean = true;
            return default;
        }

        public void RoundStarted(int round, int rounds) => Volatile.Write(ref _isMeasuring, true);

        public void RoundEnded(WorkerRound round, int rounds) => Assert.True(round.IsPartial);
    }
}
