using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>Workloads that do not come back from what they do outside of their operations.</summary>
public class HangingWorkloadTests
{
    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(nameof(IWorkload.SetupAsync), true, 0.1)]
    [InlineData(nameof(IWorkload.SetupAsync), false, 0.1)]
    [InlineData(nameof(IWorkload.BeginRoundAsync), true, 3)]
    [InlineData(nameof(IWorkload.BeginRoundAsync), false, 3)]
    public async Task RunAsync_PreparingThatNeverEnds_IsGivenUp(string where, bool blocks, double seconds)
    {
        using Hanging workload = new(where, blocks);

        TimeoutException error = await Assert.ThrowsAsync<TimeoutException>(() => Runner(TimeSpan.FromSeconds(seconds)).RunAsync(workload));

        Assert.Equal(FormattableString.Invariant($"Hanging: {where} did not end within {seconds} s."), error.Message);
        Assert.False(workload.IsCleanedUp);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task RunAsync_CleanupThatNeverEnds_KeepsTheRounds(bool blocks)
    {
        using Hanging workload = new(nameof(IWorkload.CleanupAsync), blocks);

        // The limit is that of the clean-up alone: with one for all calls, a machine that is busy gives up one that only takes long.
        WorkerRunner runner = new(Spec(TimeSpan.FromHours(1)), null, static () => default) { CleanUpLimit = TimeSpan.FromMilliseconds(1) };
        WorkerRun run = await runner.RunAsync(workload);

        Assert.Equal(2, run.Rounds.Count);
        Assert.False(run.IsCleanedUp);
        Assert.Contains(run.Warnings, static w => w.Cause == RunCause.NotCleanedUp);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_StoppedInASetupThatDoesNotListen_Ends()
    {
        using Hanging workload = new(nameof(IWorkload.SetupAsync), blocks: true);
        using CancellationTokenSource stop = new();

        Task<WorkerRun> run = Runner(TimeSpan.FromHours(1)).RunAsync(workload, stop.Token);
        await workload.Hangs.Task;
        await stop.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_StoppedWhileARoundIsPrepared_KeepsTheRoundsBefore()
    {
        using CancellationTokenSource stop = new();
        int begun = 0;
        Workload workload = new("stops", static _ => Operation.Of(static () => { }))
        {
            BeginRound = () =>
            {
                // The warm-up has as many windows as it takes.
                if (Volatile.Read(ref begun) > 0)
                {
                    stop.Cancel();
                    stop.Token.ThrowIfCancellationRequested();
                }
            },
        };

        WorkerRun run = await new WorkerRunner(Spec(TimeSpan.FromHours(1)), new Started(() => Interlocked.Increment(ref begun)), static () => default).RunAsync(
            workload, stop.Token);

        Assert.True(run.IsPartial);
        Assert.Single(run.Rounds);
    }

    [Fact(Timeout = 300_000)]
    public void Run_LongCall_IsToldOnce()
    {
        using ManualResetEventSlim end = new();
        List<string> told = [];
        WorkloadCalls calls = new("long", TimeSpan.FromHours(1), what =>
        {
            told.Add(what);
            end.Set();
        })
        {
            Patience = TimeSpan.FromMilliseconds(1),
        };

        calls.Run("It", () =>
        {
            end.Wait();
            return default;
        }, CancellationToken.None);

        Assert.Equal(["It to end"], told);
        Assert.False(calls.HasHung);
    }

    [Fact(Timeout = 300_000)]
    public void Run_CallThatThrows_ThrowsTheSame() => Assert.Throws<TestException>(
        () => new WorkloadCalls("throws", TimeSpan.FromHours(1), null).Run("It", static () => throw new TestException(), CancellationToken.None));

    private static WorkerRunner Runner(TimeSpan limit) => new(Spec(limit), null, static () => default);

    private static WorkerRunSpec Spec(TimeSpan limit) => new()
    {
        Workload = "Hanging",
        Rounds = 2,
        Duration = TimeSpan.FromMilliseconds(1),
        LongestWarmUp = TimeSpan.Zero,
        DrainLimit = limit,
    };

    private sealed class Started(Action ended) : IRunObserver
    {
        public void RoundEnded(WorkerRound round, int rounds) => ended();
    }

    private sealed class Hanging(string where, bool blocks) : IWorkload, IDisposable
    {
        private readonly ManualResetEventSlim _end = new();
        private readonly TaskCompletionSource _later = new();

        public TaskCompletionSource Hangs { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public bool IsCleanedUp { get; private set; }

        public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken) => At(nameof(SetupAsync));

        public ValueTask BeginRoundAsync(CancellationToken cancellationToken) => At(nameof(BeginRoundAsync));

        public Operation CreateOperation(WorkerContext context) => Operation.Of(static () => { });

        public ValueTask CleanupAsync()
        {
            IsCleanedUp = true;
            return At(nameof(CleanupAsync));
        }

        // The thread that was left behind goes on.
        public void Dispose()
        {
            _later.TrySetResult();
            _end.Set();
        }

        private ValueTask At(string called)
        {
            if (called != where)
            {
                return default;
            }

            Hangs.TrySetResult();
            if (!blocks)
            {
                return new ValueTask(_later.Task);
            }

            _end.Wait();
            return default;
        }
    }
}
