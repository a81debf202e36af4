using System.Collections.Concurrent;
using Weir.Runtimes;

namespace Weir.Delivery.Tests.Jobs;

/// <summary>How a job ends: done, failed, or stopped by its job system; and what the next run of it does.</summary>
public sealed class JobRunTests
{
    private const int Limit = 120_000;

    public static TheoryData<string> RuntimeNames => ["direct", "concurrent", "parallel", "auto"];

    [Theory(Timeout = Limit)]
    [MemberData(nameof(RuntimeNames))]
    public async Task AllItemsSucceed_ReturnsWhatWasDone_AndAnotherRunHasNothingToDo(string name)
    {
        await using IExecutionRuntime runtime = Runtime(name);
        MemoryCheckpointStore store = new();
        JobOptions options = new() { Policies = new() { Resume = store.AsCheckpoint("job").OfVersion("items", "1") } };
        ConcurrentQueue<int> done = new();
        ValueTask Process(int item, CancellationToken token)
        {
            done.Enqueue(item);
            return default;
        }

        int[] items = [.. Enumerable.Range(0, 300)];
        Assert.Equal(new JobResult { Succeeded = 300 }, await runtime.ProcessJobAsync(items, Process, options));
        Assert.Equal(items, done.Order());
        Assert.Equal(new JobResult { Skipped = 300 }, await runtime.ProcessJobAsync(items, Process, options));
        Assert.Equal(300, done.Count);
    }

    [Theory(Timeout = Limit)]
    [MemberData(nameof(RuntimeNames))]
    public async Task ItemsFail_ThrowsWhenAllHaveRun_AndTheNextRunTriesThese(string name)
    {
        await using IExecutionRuntime runtime = Runtime(name);
        MemoryCheckpointStore store = new();
        bool isUp = false;
        JobOptions options = new() { Policies = new() { Resume = store.AsCheckpoint("job").OfVersion("items", "1") } };
        async ValueTask ProcessAsync(int item, CancellationToken token)
        {
            await Task.Yield();
            if (item % 10 == 3 && !isUp)
            {
                throw new FormatException($"not {item % 20}");
            }
        }

        int[] items = [.. Enumerable.Range(0, 100)];
        JobFailedException failed = await Assert.ThrowsAsync<JobFailedException>(() => runtime.ProcessJobAsync(items, ProcessAsync, options));
        Assert.Equal(new JobResult { Succeeded = 90, Failed = 10 }, failed.Result);
        Assert.Equal(items.Where(static i => i % 10 == 3).Cast<object?>(), failed.Outcomes.Select(static o => o.Item));
        Assert.Equal(items.Where(static i => i % 10 == 3), failed.Failures.Select(static f => (int)f.Index));
        Assert.All(failed.Outcomes, static o => Assert.IsType<FormatException>(o.Error));
        Assert.StartsWith("10 of 100 items failed.", failed.Message, StringComparison.Ordinal);
        Assert.Contains("not 3", failed.Message, StringComparison.Ordinal);
        Assert.Contains("not 13", failed.Message, StringComparison.Ordinal);

        failed = await Assert.ThrowsAsync<JobFailedException>(() => runtime.ProcessJobAsync(items, ProcessAsync, options));
        Assert.Equal(new JobResult { Failed = 10, Skipped = 90 }, failed.Result);
        Assert.StartsWith("10 of 10 items failed, and 90 were done before.", failed.Message, StringComparison.Ordinal);
        isUp = true;
        Assert.Equal(new JobResult { Succeeded = 10, Skipped = 90 }, await runtime.ProcessJobAsync(items, ProcessAsync, options));
    }

    [Fact(Timeout = Limit)]
    public async Task ManyItemsFail_KeepsTheFirstThousandAndCountsTheRest()
    {
        await using ConcurrentRuntime runtime = new(8);
        JobFailedException failed = await Assert.ThrowsAsync<JobFailedException>(() => runtime.ProcessJobAsync(
            Enumerable.Range(0, 2_500), static (_, _) => throw new FormatException("no")));
        Assert.Equal(new JobResult { Failed = 2_500 }, failed.Result);
        Assert.Equal(1_000, failed.Outcomes.Count);
        Assert.StartsWith("2,500 of 2,500 items failed.", failed.Message, StringComparison.Ordinal);
    }

    [Theory(Timeout = Limit)]
    [InlineData("concurrent")]
    [InlineData("parallel")]
    [InlineData("auto")]
    public async Task Stop_ItemsThatHaveBegunEnd_NoOtherBegins_AndTheNextRunDoesTheRest(string name)
    {
        await using IExecutionRuntime runtime = Runtime(name);
        using CancellationTokenSource stop = new();
        using Gate begun = new();
        using Gate gate = new();
        MemoryCheckpointStore store = new();
        JobOptions options = new() { Policies = new() { Resume = store.AsCheckpoint("job").OfVersion("items", "1") } };
        ConcurrentQueue<int> done = new();
        async ValueTask ProcessAsync(int item, CancellationToken token)
        {
            begun.Open();
            await gate.WaitAsync(CancellationToken.None);
            Assert.False(token.IsCancellationRequested);
            done.Enqueue(item);
        }

        Task<JobResult> job = runtime.ProcessJobAsync(Enumerable.Range(0, 10_000), ProcessAsync, options, stop.Token);
        await begun.WaitAsync();
        await stop.CancelAsync();
        Assert.False(job.IsCompleted);
        gate.Open();
        OperationCanceledException stopped = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => job.WithinAsync());
        Assert.Equal(stop.Token, stopped.CancellationToken);
        int first = done.Count;
        Assert.InRange(first, 1, 1_000);
        Assert.Equal($"The job was stopped when {first:N0} of its items were done.", stopped.Message);

        JobResult rest = await runtime.ProcessJobAsync(Enumerable.Range(0, 10_000), ProcessAsync, options).WithinAsync();
        Assert.Equal(new JobResult { Succeeded = 10_000 - first, Skipped = first }, rest);
        Assert.Equal(Enumerable.Range(0, 10_000), done.Order());
    }

    [Theory(Timeout = Limit)]
    [InlineData("concurrent")]
    [InlineData("parallel")]
    public async Task Stop_ItemsDoNotEnd_AreCancelledAfterTheGracePeriod(string name)
    {
        await using IExecutionRuntime runtime = Runtime(name);
        using CancellationTokenSource stop = new();
        using Gate begun = new();
        ManualTimeProvider clock = new();
        Task<JobResult> job = runtime.ProcessJobAsync(
            Enumerable.Range(0, 10_000),
            async (_, token) =>
            {
                begun.Open();
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            },
            new JobOptions { TimeProvider = clock, GracePeriod = TimeSpan.FromSeconds(7) },
            stop.Token);
        await begun.WaitAsync();
        Assert.Null(clock.NextDue);
        await stop.CancelAsync();
        Assert.True(clock.IsArmedFor(TimeSpan.FromSeconds(7)));
        clock.Advance(TimeSpan.FromSeconds(6.9));
        Assert.False(job.IsCompleted);
        clock.Advance(TimeSpan.FromSeconds(0.1));
        OperationCanceledException stopped = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => job.WithinAsync());
        Assert.Equal(stop.Token, stopped.CancellationToken);
        Assert.Equal(0, clock.LiveTimers);
    }

    [Fact(Timeout = Limit)]
    public async Task Stop_ItemIgnoresItsToken_IsGivenUpAtItsOwnTimeLimit()
    {
        ManualTimeProvider clock = new();
        await using ConcurrentRuntime runtime = new(1, new RuntimeOptions { TimeProvider = clock });
        using CancellationTokenSource stop = new();
        using Gate begun = new();
        using Gate gate = new();
        Task<JobResult> job = runtime.ProcessJobAsync(
            Enumerable.Range(0, 10_000),
            async (_, _) =>
            {
                begun.Open();
                await gate.WaitAsync(CancellationToken.None);
            },
            new JobOptions { Policies = new() { PerItemTimeout = TimeSpan.FromSeconds(20) }, TimeProvider = clock, GracePeriod = TimeSpan.FromSeconds(7) },
            stop.Token);
        await begun.WaitAsync();
        await stop.CancelAsync();
        clock.Advance(TimeSpan.FromSeconds(7));
        Assert.False(job.IsCompleted);
        clock.Advance(TimeSpan.FromSeconds(13));
        OperationCanceledException stopped = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => job.WithinAsync());
        Assert.Equal(stop.Token, stopped.CancellationToken);
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Stop_WithTheLastItem_IsNoStopIfAllItemsAreKnownToBeDone(bool isList)
    {
        await using DirectRuntime runtime = new();
        using CancellationTokenSource stop = new();
        int[] list = [1, 2, 3];
        ValueTask Process(int item, CancellationToken token)
        {
            if (item == 3)
            {
                stop.Cancel();
            }

            return default;
        }

        Task<JobResult> job = runtime.ProcessJobAsync(isList ? list : list.Where(static _ => true), Process, null, stop.Token);
        if (isList)
        {
            Assert.Equal(new JobResult { Succeeded = 3 }, await job);
        }
        else
        {
            // Nobody knows that the sequence has no more.
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => job);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Stop_BeforeTheStart_ReadsNothing()
    {
        await using ConcurrentRuntime runtime = new(2);
        OperationCanceledException stopped = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => runtime.ProcessJobAsync(
            Unreadable(), static (_, _) => default, null, new CancellationToken(canceled: true)));
        Assert.True(stopped.CancellationToken.IsCancellationRequested);

        static IEnumerable<int> Unreadable()
        {
            Assert.Fail("It was read.");
            yield break;
        }
    }

    [Fact(Timeout = Limit)]
    public async Task TotalTimeout_RunningItemsTimedOut_IsAFailure()
    {
        ManualTimeProvider clock = new();
        await using ConcurrentRuntime runtime = new(2, new RuntimeOptions { TimeProvider = clock });
        using Gate begun = new();
        Task<JobResult> job = runtime.ProcessJobAsync(
            Enumerable.Range(0, 10),
            async (_, token) =>
            {
                begun.Open();
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            },
            new JobOptions { TotalTimeout = TimeSpan.FromSeconds(5) });
        await begun.WaitAsync();
        clock.Advance(TimeSpan.FromSeconds(5));
        JobFailedException failed = await Assert.ThrowsAsync<JobFailedException>(() => job.WithinAsync());
        Assert.InRange(failed.Result.Failed, 1, 2);
        Assert.All(failed.Outcomes, static o => Assert.Equal(ItemStatus.TimedOut, o.Status));
    }

    [Fact(Timeout = Limit)]
    public async Task Runtime_DisposedWhileAJobRuns_IsNoSuccess()
    {
        ConcurrentRuntime runtime = new(1, new RuntimeOptions { GracePeriod = TimeSpan.Zero });
        using Gate begun = new();
        Task<JobResult> job = runtime.ProcessJobAsync(Enumerable.Range(0, 10), async (_, token) =>
        {
            begun.Open();
            await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
        });
        await begun.WaitAsync();
        await runtime.DisposeAsync();
        OperationCanceledException ended = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => job.WithinAsync());
        Assert.Contains("items of the job were cancelled or never ran", ended.Message, StringComparison.Ordinal);
        Assert.Equal(CancellationToken.None, ended.CancellationToken);
    }

    [Fact(Timeout = Limit)]
    public async Task AsynchronousItems_WithKeys_RunInOrderWithinAKey()
    {
        await using ConcurrentRuntime runtime = new(8);
        ConcurrentDictionary<int, int> last = new();
        JobResult result = await runtime.ProcessJobAsync(
            ItemsAsync().PartitionBy(static i => i % 5),
            async (item, _) =>
            {
                await Task.Yield();
                Assert.Equal(item - 5, last.GetValueOrDefault(item % 5, item % 5 - 5));
                last[item % 5] = item;
            });
        Assert.Equal(new JobResult { Succeeded = 200 }, result);

        static async IAsyncEnumerable<int> ItemsAsync()
        {
            for (int i = 0; i < 200; i++)
            {
                await Task.Yield();
                yield return i;
            }
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Processor_OfEachShape_IsCalledForEachItem()
    {
        await using ConcurrentRuntime runtime = new(2);
        int calls = 0;
        Task CountAsync(int item, CancellationToken token)
        {
            Interlocked.Increment(ref calls);
            return Task.CompletedTask;
        }

        int[] items = [1, 2, 3];
        await runtime.ProcessJobAsync(items, CountAsync);
        await runtime.ProcessJobAsync(items, (item, token) => CountAsync(item, token));
        await runtime.ProcessJobAsync(items, async (item, token) => await CountAsync(item, token));
        await runtime.ProcessJobAsync(items.ToAsyncEnumerable(), CountAsync);
        await runtime.ProcessJobAsync(items.ToAsyncEnumerable(), (item, token) => CountAsync(item, token));
        await runtime.ProcessJobAsync(items.ToAsyncEnumerable(), async (item, token) => await CountAsync(item, token));
        Assert.Equal(18, calls);
        Assert.Equal(
            2, (await Assert.ThrowsAsync<JobFailedException>(() => runtime.ProcessJobAsync(items, (item, token) => item > 1 ? throw new FormatException() : CountAsync(item, token)))).Result.Failed);
    }

    [Fact(Timeout = Limit)]
    public async Task Store_ThatFails_FailsTheJobAndKeepsItsException()
    {
        await using ConcurrentRuntime runtime = new(2);
        await Assert.ThrowsAsync<IOException>(() => runtime.ProcessJobAsync(
            Enumerable.Range(0, 10), static (_, _) => default, new JobOptions { Policies = new() { Resume = new BrokenStore().AsCheckpoint("job") } }));
    }

    [Fact]
    public async Task Arguments_ThatAreWrong_AreNamedAtTheCall()
    {
        await using ConcurrentRuntime runtime = new(2);
        int[] items = [1];
        static ValueTask Process(int item, CancellationToken token) => default;
        Assert.Equal("items", Named<ArgumentNullException>(() => runtime.ProcessJobAsync((IEnumerable<int>)null!, Process)));
        Assert.Equal("processor", Named<ArgumentNullException>(() => runtime.ProcessJobAsync(items, null!)));
        Assert.Equal("runtime", Named<ArgumentNullException>(() => ((IExecutionRuntime)null!).ProcessJobAsync(items, Process)));
        Assert.Equal(
            nameof(JobOptions.GracePeriod),
            Named<ArgumentOutOfRangeException>(() => runtime.ProcessJobAsync(items, Process, new JobOptions { GracePeriod = TimeSpan.FromSeconds(-5) })));
        Assert.Equal(
            nameof(JobOptions.TotalTimeout),
            Named<ArgumentOutOfRangeException>(() => runtime.ProcessJobAsync(items, Process, new JobOptions { TotalTimeout = TimeSpan.Zero })));
        Assert.Equal(
            "Control",
            Named<ArgumentException>(() => runtime.ProcessJobAsync(items, Process, new JobOptions { Policies = new() { Control = new RunControl() } })));
    }

    // What is thrown at the call, and not by its task.
    private static string? Named<TException>(Action call)
        where TException : ArgumentException => Assert.Throws<TException>(call).ParamName;

    private static IExecutionRuntime Runtime(string name) => name switch
    {
        "direct" => new DirectRuntime(),
        "concurrent" => new ConcurrentRuntime(4),
        "parallel" => new ParallelRuntime(2),
        _ => new AutoRuntime(4),
    };

    private sealed class BrokenStore : ICheckpointStore
    {
        public ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default) => throw new IOException("The store is away.");

        public ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default) => throw new IOException("The store is away.");
    }
}
