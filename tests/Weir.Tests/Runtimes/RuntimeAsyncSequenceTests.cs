using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>Every runtime takes asynchronous sequences and channels: they are read as items are wanted, and nothing waits on a thread.</summary>
public class RuntimeAsyncSequenceTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(1);

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Sequence_OfAnyKindAndLength_GivesAnOutcomeForEachItemOnce(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (SourceKind kind in new[] { SourceKind.AsyncImmediate, SourceKind.AsyncSuspending, SourceKind.Channel })
        {
            foreach (int count in new[] { 0, 1, 300, 3000 })
            {
                foreach (bool keyed in new[] { false, true })
                {
                    int[] calls = new int[count];
                    int[] inLane = new int[3];
                    async ValueTask<int> TwiceAsync(int x, CancellationToken token)
                    {
                        Interlocked.Increment(ref calls[x]);
                        Assert.False(Interlocked.Increment(ref inLane[x % 3]) > 1 && keyed, "Two of a key run at once.");
                        if (x % 5 == 3)
                        {
                            await Task.Yield();
                        }

                        Interlocked.Decrement(ref inLane[x % 3]);
                        return x % 7 == 6 ? throw new TestException("item") : 2 * x;
                    }

                    ItemOutcome<int, int>[] outcomes =
                        await RuntimeRun.Start(form, runtime, Items(kind, count, keyed), TwiceAsync).WithinAsync($"{count} items of {kind}");
                    Assert.Equal(Enumerable.Range(0, count), outcomes.Select(static o => o.Item));
                    Assert.All(outcomes, static (o, x) => Assert.Equal(x % 7 == 6 ? ItemStatus.Failed : ItemStatus.Succeeded, o.Status));
                    Assert.All(outcomes.Where(static o => o.IsSuccess), static o => Assert.Equal(2 * o.Item, o.Value));
                    Assert.All(calls, static made => Assert.Equal(1, made));
                }
            }
        }

        Assert.Equal(0, runtime.Statistics.ActiveCalls);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Sequence_ThatThrows_EndsTheCallWithItsExceptionAndIsDisposedOf(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        bool disposed = false;
        async IAsyncEnumerable<int> BreakingAsync()
        {
            try
            {
                yield return 0;
                await Task.Yield();
                throw new TestException("sequence");
            }
            finally
            {
                disposed = true;
            }
        }

        TestException thrown = await Assert.ThrowsAsync<TestException>(() => RuntimeRun.Start(
            form, runtime, AwaitedItems<int>.Of(BreakingAsync()), static (x, _) => new ValueTask<int>(x)).WithinAsync("the call"));
        Assert.Equal("sequence", thrown.Message);
        Assert.True(disposed);
        Assert.Equal(0, runtime.Statistics.ActiveCalls);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task SilentSequence_CancelledOrOutOfTime_EndsTheCall(string name, RunForm form)
    {
        ManualTimeProvider clock = new();
        await using IExecutionRuntime runtime = RuntimeCases.Create(name, clock);
        using CancellationTokenSource caller = new();
        foreach (bool byTime in new[] { false, true })
        {
            TaskCompletionSource asked = new(TaskCreationOptions.RunContinuationsAsynchronously);
            TaskCompletionSource worked = new(TaskCreationOptions.RunContinuationsAsynchronously);
            Task<ItemOutcome<int, int>[]> call = RuntimeRun.Start(
                form,
                runtime,
                AwaitedItems<int>.Of(SilentAsync(asked)),
                (x, _) =>
                {
                    worked.TrySetResult();
                    return new ValueTask<int>(x);
                },
                new ProcessManyOptions { TotalTimeout = byTime ? Limit : null },
                byTime ? CancellationToken.None : caller.Token);
            await asked.Task.WithinAsync("the silence");

            // The item that came before the silence does not wait for the next.
            await worked.Task.WithinAsync("the item before the silence");
            if (byTime)
            {
                await clock.PassAsync(Limit, call);
                Assert.Equal(1, Assert.Single(await call.WithinAsync("the call")).Value);
            }
            else
            {
                await caller.CancelAsync();
                Assert.Equal(caller.Token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync("the call"))).CancellationToken);
            }
        }

        await clock.AssertNoTimersAsync();
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Stream_WhoseConsumerStands_ReadsNoFurtherThanItsWindow(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        int read = 0;
        async IAsyncEnumerable<int> EndlessAsync()
        {
            while (true)
            {
                await Task.Yield();
                yield return Interlocked.Increment(ref read);
            }
        }

        await using (IAsyncEnumerator<(int Index, ItemOutcome<int, int> Outcome)> consumer =
            runtime.ProcessManyStreamAsync(EndlessAsync(), static (x, _) => new ValueTask<int>(x)).GetAsyncEnumerator(TestContext.Current.CancellationToken))
        {
            Assert.True(await consumer.MoveNextAsync());
            int last;
            do
            {
                last = Volatile.Read(ref read);
                await Guard.SettleAsync();
            }
            while (last != Volatile.Read(ref read));

            // What may be ready, what may be in flight, and one that a reader has in its hand.
            Assert.InRange(last, 1, 1024 + RuntimeCases.LimitOf(name) + 1);
        }

        Assert.Equal(0, runtime.Statistics.ActiveCalls);
    }

    [Fact(Timeout = 90_000)]
    public async Task DirectRuntime_WhileTheSequenceIsSilent_HoldsNotItsCaller()
    {
        await using DirectRuntime runtime = new();
        Channel<int> items = Channel.CreateUnbounded<int>(new() { SingleReader = true });
        Task<ItemOutcome<int, int>[]> call = runtime.ProcessManyAsync(items.Reader, static (x, _) => new ValueTask<int>(2 * x));
        Assert.False(call.IsCompleted);
        items.Writer.TryWrite(4);
        items.Writer.Complete();
        Assert.Equal(8, Assert.Single(await call.WithinAsync()).Value);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task WorkQueue_AsItIs_EndsWhenNothingIsLeft(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        WorkQueue<int> queue = new();
        queue.TryAdd(10);
        ItemOutcome<int>[] outcomes = await runtime.ProcessManyAsync(
            queue,
            x =>
            {
                if (x > 1)
                {
                    queue.TryAdd(x / 2);
                    queue.TryAdd(x / 3);
                }
            }).WithinAsync();
        Assert.All(outcomes, static o => Assert.True(o.IsSuccess));
        Assert.Equal([0, 1, 1, 1, 1, 2, 3, 5, 10], outcomes.Select(static o => o.Item).Order());
    }

    [Fact(Timeout = 90_000)]
    public async Task AutoRuntime_WithDecisions_TakesThemToo()
    {
        await using AutoRuntime runtime = new(8);
        AutoResult<int, int> result = await runtime.ProcessManyWithDecisionsAsync(
            Items(3000).PartitionBy(static x => x % 3), static (x, _) => new ValueTask<int>(x)).WithinAsync();
        Assert.Equal(Enumerable.Range(0, 3000), result.Outcomes.Select(static o => o.Value));
        Assert.NotEmpty(result.Decisions);
    }

    [Fact(Timeout = 90_000)]
    public async Task AnotherRuntime_GetsASequenceThatBlocks()
    {
        Channel<int> channel = Channel.CreateUnbounded<int>();
        channel.Writer.TryWrite(1);
        channel.Writer.Complete();
        Assert.Equal([1], AwaitedItems<int>.Of(channel.Reader));
        Assert.Equal(Enumerable.Range(0, 50), await Task.Run(static () => AwaitedItems<int>.Of(Items(50)).ToList()));
    }

    [Fact]
    public async Task Arguments_ThatAreWrong_AreRefusedAtTheCall()
    {
        await using DirectRuntime direct = new();
        Assert.Throws<ArgumentNullException>("items", () => { _ = direct.ProcessManyAsync((IAsyncEnumerable<int>)null!, static x => x); });
        Assert.Throws<ArgumentNullException>("items", () => { _ = direct.ProcessManyAsync((ChannelReader<int>)null!, static x => x); });
        Assert.Throws<ArgumentNullException>("items", () => { _ = direct.ProcessManyStreamAsync((ChannelReader<int>)null!, static x => x); });
        Assert.Throws<ArgumentNullException>("runtime", () => { _ = ((IExecutionRuntime)null!).ProcessManyAsync(Items(1), static x => x); });
        Assert.Throws<ArgumentException>(() => { _ = direct.ProcessManyAsync(Items(1).PartitionBatchesBy(static x => 1), static x => x); });
        Assert.Throws<ArgumentOutOfRangeException>("TotalTimeout", () =>
        {
            _ = direct.ProcessManyStreamAsync(Items(1), static x => x, options: new() { TotalTimeout = TimeSpan.Zero });
        });
    }

    private static IEnumerable<int> Items(SourceKind kind, int count, bool keyed)
    {
        TestSource source = TestSource.Of(kind, count);
        return (source.AsyncSequence, keyed) switch
        {
            ({ } items, false) => AwaitedItems<int>.Of(items),
            ({ } items, true) => AwaitedItems<int>.Of(items.PartitionBy(static x => x % 3)),
            (null, false) => AwaitedItems<int>.Of(source.Channel!),
            (null, true) => AwaitedItems<int>.Of(source.Channel!.PartitionBy(static x => x % 3)),
        };
    }

    private static async IAsyncEnumerable<int> Items(int count)
    {
        for (int x = 0; x < count; x++)
        {
            await Task.Yield();
            yield return x;
        }
    }

    private static async IAsyncEnumerable<int> SilentAsync(TaskCompletionSource asked, [EnumeratorCancellation] CancellationToken token = default)
    {
        yield return 1;
        asked.TrySetResult();
        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
    }
}
