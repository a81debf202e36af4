using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>The caller's cancellation and the consumer's leaving.</summary>
public class RuntimeCancellationTests
{
    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Cancel_BeforeTheCall_ThrowsWithTheTokenAndRunsNothing(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using CancellationTokenSource caller = new();
        await caller.CancelAsync();
        int ran = 0;
        OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => RuntimeRun.AllAsync(
            form, runtime, RuntimeRun.Count(10), (x, _) => new ValueTask<int>(Interlocked.Increment(ref ran)), null, caller.Token));
        Assert.Equal(caller.Token, thrown.CancellationToken);
        Assert.Equal(0, ran);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.ActiveCalls == 0));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Cancel_ItemsObeyTheirToken_ThrowsWithTheTokenAndStartsNothingMore(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int limit = RuntimeCases.LimitOf(name);
        using RuntimeGate gate = new();
        using CancellationTokenSource caller = new();
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
            form, runtime, RuntimeRun.Count(300), (x, token) => gate.PassAsync(x, token), null, caller.Token);
        await gate.ArrivedAsync(limit);
        await caller.CancelAsync();
        OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        Assert.Equal(caller.Token, thrown.CancellationToken);
        Assert.Equal(limit, gate.Arrived);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.ActiveCalls == 0));
        runtime.AssertIdle(0, limit);
        Assert.Equal((0, limit), (runtime.Statistics.Failed, runtime.Statistics.Cancelled));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Cancel_ItemsIgnoreTheirToken_AreWaitedFor(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int limit = RuntimeCases.LimitOf(name);
        using RuntimeGate gate = new();
        using CancellationTokenSource caller = new();
        int ended = 0;
        Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(form, runtime, RuntimeRun.Count(300), async (x, _) =>
        {
            await gate.PassAsync(x);
            Interlocked.Increment(ref ended);
            return x;
        }, null, caller.Token);
        await gate.ArrivedAsync(limit);
        await caller.CancelAsync();
        Assert.False(call.IsCompleted);
        gate.Open();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        Assert.Equal(limit, gate.Arrived);
        Assert.Equal(limit, ended);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Cancel_StuckItemWithATimeLimit_EndsAtTheLimitAllTheSame(string name, RunForm form)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        foreach (ProcessManyOptions options in new ProcessManyOptions[]
        {
            new() { PerItemTimeout = TimeSpan.FromSeconds(5) }, new() { TotalTimeout = TimeSpan.FromSeconds(5) },
        })
        {
            using RuntimeGate gate = new();
            using CancellationTokenSource caller = new();
            Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
                form, runtime, RuntimeRun.Count(10), (x, _) => gate.PassAsync(x), options, caller.Token);
            await gate.ArrivedAsync(Math.Min(10, RuntimeCases.LimitOf(name)));
            await caller.CancelAsync();
            await clock.PassAsync(TimeSpan.FromSeconds(5), call);
            OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
            Assert.Equal(caller.Token, thrown.CancellationToken);
        }

        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.ActiveCalls == 0));
        await clock.AssertNoTimersAsync();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Cancel_AfterTheEnd_ChangesNothing(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        using CancellationTokenSource caller = new();
        ItemOutcome<int, int>[] outcomes = await RuntimeRun.AllAsync(
            form, runtime, RuntimeRun.Count(10), static (x, _) => new ValueTask<int>(x), null, caller.Token);
        await caller.CancelAsync();
        Assert.All(outcomes, static o => Assert.True(o.IsSuccess));
        runtime.AssertIdle(10, 0);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Cancel_EitherOfAStreamsTwoTokens_ThrowsWithThatOne(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (bool enumerators in new[] { false, true })
        {
            using RuntimeGate gate = new();
            using CancellationTokenSource caller = new();
            using CancellationTokenSource enumerator = new();
            CancellationTokenSource cancelled = enumerators ? enumerator : caller;
            Task reading = Task.Run(async () =>
            {
                await foreach ((int _, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(
                    RuntimeRun.Count(10), (x, token) => gate.PassAsync(x, token), false, null, caller.Token).WithCancellation(enumerator.Token))
                {
                    RuntimeRun.AssertCancelled(outcome);
                }
            });
            await gate.ArrivedAsync(1);
            await cancelled.CancelAsync();
            OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading);
            Assert.Equal(cancelled.Token, thrown.CancellationToken);
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task Cancel_SeenByAnItemBeforeItWaits_EndsADirectStreamWithoutAFailedItem()
    {
        await using DirectRuntime runtime = new();
        using CancellationTokenSource caller = new();
        IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream = runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(10),
            (x, token) =>
            {
                caller.Cancel();
                token.ThrowIfCancellationRequested();
                return new ValueTask<int>(x);
            },
            false,
            null,
            caller.Token);
        await using IAsyncEnumerator<(int Index, ItemOutcome<int, int> Outcome)> items = stream.GetAsyncEnumerator(CancellationToken.None);
        OperationCanceledException thrown = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => items.MoveNextAsync().AsTask());
        Assert.Equal(caller.Token, thrown.CancellationToken);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Break_InTheMiddle_CancelsAndAwaitsWhatRuns(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int running = 0;
        int first = 0;
        int read = 0;
        await foreach ((
            int index, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(RuntimeRun.Count(100_000), Process, form == RunForm.OrderedStream))
        {
            Assert.Equal(index, outcome.Value);
            if (++read == 5)
            {
                break;
            }
        }

        Assert.Equal(5, read);
        Assert.Equal(0, Volatile.Read(ref running));
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.ActiveCalls == 0));
        RuntimeStatistics statistics = runtime.Statistics;
        Assert.Equal(0, statistics.InFlight);
        Assert.InRange(statistics.Succeeded, 5, 10_000);

        // Items from the sixth on end only because their token is cancelled, once the first five have ended. Before that, they would hold all workers, and an
        // item before them that a worker gave back would not begin.
        async ValueTask<int> Process(int x, CancellationToken token)
        {
            Interlocked.Increment(ref running);
            try
            {
                await (x < 5 || Volatile.Read(ref first) < 5 ? Task.CompletedTask : new TaskCompletionSource().Task.WaitAsync(token));
                return x;
            }
            finally
            {
                Interlocked.Add(ref first, x < 5 ? 1 : 0);
                Interlocked.Decrement(ref running);
            }
        }
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Stream_ConsumerThrows_EndsTheRunAndGivesTheConsumersException(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        InvalidDataException own = new("consumer");
        InvalidDataException thrown = await Assert.ThrowsAsync<InvalidDataException>(async () =>
        {
            await foreach ((int _, ItemOutcome<int, int> _) in runtime.ProcessManyStreamAsync(
                RuntimeRun.Count(100_000), static (x, _) => new ValueTask<int>(x)))
            {
                throw own;
            }
        });
        Assert.Same(own, thrown);
        Assert.True(await RuntimeRun.UntilAsync(() => runtime.Statistics.ActiveCalls == 0));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Stream_NotEnumerated_RunsNothingAndKeepsNothingOpen(string name)
    {
        IExecutionRuntime runtime = RuntimeCases.Create(name);
        int ran = 0;
        IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream = runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(10), (x, _) => new ValueTask<int>(Interlocked.Increment(ref ran)));
        await stream.GetAsyncEnumerator(CancellationToken.None).DisposeAsync();
        Assert.Equal(0, runtime.Statistics.ActiveCalls);
        await runtime.DisposeAsync();
        Assert.Equal(0, ran);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Stream_EnumeratedTwice_IsTwoRuns(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int ran = 0;
        IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> stream = runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(10), (x, _) => new ValueTask<int>(Interlocked.Increment(ref ran)));
        for (int round = 1; round <= 2; round++)
        {
            int read = 0;
            await foreach ((int _, ItemOutcome<int, int> _) in stream)
            {
                read++;
            }

            Assert.Equal(10, read);
            Assert.Equal(10 * round, ran);
        }
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Stream_SlowConsumer_HoldsTheRunBack(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int ran = 0;
        int read = 0;
        await foreach ((int _, ItemOutcome<int, int> _) in runtime.ProcessManyStreamAsync(
            RuntimeRun.Count(20_000), (x, _) => new ValueTask<int>(Interlocked.Increment(ref ran))))
        {
            read++;
            if (read % 500 == 0)
            {
                Assert.InRange(Volatile.Read(ref ran), read, read + 1024 + RuntimeCases.LimitOf(name) + 1);
            }
        }

        Assert.Equal(20_000, read);
    }
}
