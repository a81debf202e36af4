using Weir.Core.Dispatch;
using Weir.Core.Threads;
using Weir.Runtimes;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Runs at the same time, and what they use again: each item has its own result, once.</summary>
public class RuntimeScenarios(ITestOutputHelper output)
{
    private static readonly ExploreOptions AnyTime = new() { TimersFireAnyTime = true };
    private static readonly int[] Two = [1, 2];
    private static readonly int[] Three = [1, 2, 3];

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Runs_AtTheSameTime_KeepTheirItemsApart(bool isLimited) => output.Explored(
        async () =>
        {
            // All of a run's items may be in flight, so its calls are parked; the later runs use what the earlier ones have left.
            ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, PerItemTimeout = isLimited ? TimeSpan.FromMilliseconds(1) : null };
            await Task.WhenAll(Task.Run(() => RunAsync(10)), Task.Run(() => RunAsync(20)));
            await RunAsync(30);

            async Task RunAsync(int own)
            {
                ItemOutcome<int, int>[] outcomes = await Two.SelectParallelOutcomesAsync(
                    async (item, token) =>
                    {
                        await Task.Yield();
                        return own + item;
                    },
                    options);
                Assert.All(outcomes, (o, i) => Assert.True((isLimited && o.Status == ItemStatus.TimedOut) || o.Value == own + Two[i]));
            }
        },
        isLimited ? AnyTime : null);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Results_ThatNobodyGets_AreDisposedOfOnce(bool isStream) => output.Explored(
        async () =>
        {
            List<Resource> made = [];
            List<Resource> got = [];
            using CancellationTokenSource source = new();
            Task cancelling = Task.Run(source.Cancel);
            ParallelRunOptions options = new()
            {
                MaxDegreeOfParallelism = 2, PerItemTimeout = TimeSpan.FromMilliseconds(1), ErrorMode = ErrorMode.BestEffort,
                Output = new() { DisposeUnusedResults = true },
            };
            try
            {
                if (isStream)
                {
                    await foreach (Resource resource in Two.SelectParallelStreamAsync(MakeAsync, options, source.Token))
                    {
                        got.Add(resource);
                    }
                }
                else
                {
                    got.AddRange(await Two.SelectParallelAsync(MakeAsync, options, source.Token));
                }
            }
            catch (OperationCanceledException) when (source.IsCancellationRequested)
            {
            }

            await cancelling;

            // Some come late. A second disposal may come later still.
            await Task.WhenAll(made.Except(got).Select(static resource => resource.Disposed));
            await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
            Assert.All(made, resource => Assert.Equal(got.Contains(resource) ? 0 : 1, resource.Disposals));

            async ValueTask<Resource> MakeAsync(int item, CancellationToken token)
            {
                Resource resource = new();
                made.Add(resource);
                await Task.Yield();
                return resource;
            }
        },
        AnyTime);

    [Fact]
    public void Auto_WithCallsOfAllKinds_EndsEachItemOnce() => output.Explored(
        static async () =>
        {
            // The processor's time is another one each time the schedule is run.
            ThreadClock.IsKnown = false;
            await using AutoRuntime runtime = new(maxConcurrencyPerCall: 2, maxThreads: 2);
            using ManualResetEventSlim opened = new();
            int calls = 0;
            ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(Three, async (item, token) =>
            {
                Interlocked.Increment(ref calls);
                switch (item)
                {
                    case 1:
                        // Blocks, for a pool thread that comes at any time.
                        _ = Task.Run(opened.Set, CancellationToken.None);
                        opened.Wait(CancellationToken.None);
                        return item;
                    case 2:
                        await Task.Yield();
                        return item;
                    default:
                        throw new InvalidOperationException();
                }
            });
            Assert.Equal(3, calls);
            Assert.Equal([ItemStatus.Succeeded, ItemStatus.Succeeded, ItemStatus.Failed], outcomes.Select(static o => o.Status));
            Assert.Equal((2, 1, 0), (runtime.Statistics.Succeeded, runtime.Statistics.Failed, runtime.Statistics.InFlight));
        },
        AnyTime);

    [Fact]
    public void Thread_OfARuntime_ThatIsStuck_IsReplaced() => output.Explored(static async () =>
    {
        await using ParallelRuntime runtime = new(workers: 1);
        using ManualResetEventSlim opened = new();
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            Three,
            (item, token) =>
            {
                if (item == 1)
                {
                    opened.Wait(CancellationToken.None);
                }

                return new ValueTask<int>(item);
            },
            new ProcessManyOptions { PerItemTimeout = TimeSpan.FromMilliseconds(10) });
        Assert.Equal([ItemStatus.TimedOut, ItemStatus.Succeeded, ItemStatus.Succeeded], outcomes.Select(static o => o.Status));
        Assert.Equal(1, runtime.Statistics.ReplacedThreads);
        opened.Set();
    });

    [Theory]
    [InlineData("direct")]
    [InlineData("concurrent")]
    [InlineData("parallel")]
    public void Runtime_DisposedAsACallStarts_RefusesOrGivesAllOutcomes(string kind) => output.Explored(async () =>
    {
        IExecutionRuntime runtime = kind switch
        {
            "direct" => new DirectRuntime(),
            "concurrent" => new ConcurrentRuntime(concurrencyPerCall: 2),
            _ => new ParallelRuntime(workers: 2),
        };
        int ran = 0;
        Task calling = Task.Run(async () =>
        {
            try
            {
                ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(Two, Calls.YieldedAsync);
                Assert.All(outcomes, static (o, i) => Assert.Equal(o.IsSuccess ? Two[i] : 0, o.ValueOrDefault));
                ran = outcomes.Count(static o => o.Status != ItemStatus.NotRun);
            }
            catch (ObjectDisposedException)
            {
                // It came after the end.
            }
        });
        await runtime.DisposeAsync();
        await calling;
        RuntimeStatistics statistics = runtime.Statistics;
        Assert.Equal((ran, 0), (statistics.Succeeded + statistics.Failed + statistics.Cancelled, statistics.ActiveCalls));
    });

    private sealed class Resource : IDisposable
    {
        private readonly TaskCompletionSource _disposed = new();
        private int _disposals;

        public int Disposals => _disposals;

        public Task Disposed => _disposed.Task;

        public void Dispose()
        {
            Interlocked.Increment(ref _disposals);
            _disposed.TrySetResult();
        }
    }
}
