using System.Runtime.CompilerServices;
using Weir.Core.Sinks;
using Weir.Runtimes;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Streams of results: their bounds, their order, and how they end.</summary>
public class StreamScenarios(ITestOutputHelper output)
{
    private static readonly int[] Three = [1, 2, 3];
    private static readonly int[] Four = [1, 2, 3, 4];
    private static readonly ParallelRunOptions TwoWorkers = new() { MaxDegreeOfParallelism = 2 };

    [Fact]
    public void Stream_LeftEarly_Ends() => output.Explored(static async () =>
    {
        int seen = 0;
        await foreach (int item in Three.SelectParallelStreamAsync(Calls.YieldedAsync, TwoWorkers))
        {
            seen++;
            break;
        }

        Assert.Equal(1, seen);
    });

    [Fact]
    public void Stream_OfAll_HasEachItemOnce() => output.Explored(static async () =>
    {
        List<int> seen = [];
        await foreach (int item in Calls.ItemsAsync(Three).SelectParallelStreamAsync(Calls.YieldedAsync, TwoWorkers))
        {
            seen.Add(item);
        }

        Assert.Equal([1, 2, 3], seen.Order());
    });

    [Fact]
    public void Stream_AtItsBound_GoesOnWhenItsConsumerDoes() => output.Explored(static async () =>
    {
        // One in flight and one that is ready.
        const int Window = 2;
        int seen = 0;
        int begun = 0;
        await foreach (int item in Four.SelectParallelStreamAsync(
            (item, token) => new ValueTask<int>(Interlocked.Increment(ref begun)),
            TwoWorkers with { MaxDegreeOfParallelism = 1, ChannelCapacity = 1 }))
        {
            seen++;

            // Until nobody else can run.
            await Task.Delay(TimeSpan.FromSeconds(1), TimeProvider.System);
            Assert.InRange(begun - seen, 0, Window);
        }

        Assert.Equal(4, seen);
    });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Stream_OnTheThreadOfItsConsumer_CancelledAtAnyMoment_BeginsWhatIsAskedForAndEnds(bool isCancelled) => output.Explored(async () =>
    {
        DirectRuntime runtime = new();
        using CancellationTokenSource source = new();
        Task cancelling = isCancelled ? Task.Run(source.Cancel, CancellationToken.None) : Task.CompletedTask;
        int asked = 1;
        int begun = 0;
        int succeeded = 0;
        try
        {
            await foreach ((int index, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(
                Three,
                async (item, token) =>
                {
                    Assert.InRange(Interlocked.Increment(ref begun), 1, Volatile.Read(ref asked));
                    if (item == 2)
                    {
                        await Task.Yield();
                    }

                    return item;
                },
                cancellationToken: source.Token))
            {
                Assert.True(outcome.IsSuccess);
                Assert.Equal(succeeded++, index);
                asked++;
            }

            Assert.Equal(3, succeeded);
        }
        catch (OperationCanceledException) when (isCancelled)
        {
            Assert.InRange(begun, succeeded, 3);
        }

        await cancelling;
        await runtime.DisposeAsync();
        Assert.Equal(0, runtime.Statistics.ActiveCalls);
    });

    [Fact]
    public void Stream_InOrder_WhoseFirstItemIsTheLastToEnd_IsInOrder() => output.Explored(static async () =>
    {
        // So many that the output has to grow while it holds results.
        const int Items = 18;
        TaskCompletionSource last = new(TaskCreationOptions.RunContinuationsAsynchronously);
        List<int> seen = [];
        await foreach (int item in Enumerable.Range(0, Items).ToArray().SelectParallelStreamAsync(
            async (item, token) =>
            {
                if (item == 0)
                {
                    await last.Task;
                }
                else if (item == Items - 1)
                {
                    last.SetResult();
                }

                return item;
            },
            TwoWorkers with { ChannelCapacity = Items, OrderedOutput = true }))
        {
            seen.Add(item);
        }

        Assert.Equal(Enumerable.Range(0, Items), seen);
    });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Chunk_FilledWhileItsConsumerAsks_GivesEachResult(bool ordered) => output.Explored(
        async () =>
        {
            StreamOutput<int> stream = new(ordered, 1, 19, static _ => new NoRun()) { MoreLooks = 0 };
            TaskCompletionSource last = new(TaskCreationOptions.RunContinuationsAsynchronously);
            Task worker = Task.Run(async () =>
            {
                ResultChunk? held = null;
                stream.Open(ref held, 0, 3);
                Unsafe.As<ResultChunk<int>>(held!).Store(0, 0);
                Unsafe.As<ResultChunk<int>>(held!).Store(1, 1);

                // The third call takes until the consumer has the result of the second.
                await last.Task;
                Unsafe.As<ResultChunk<int>>(held!).Store(2, 2);
                stream.Close(ref held);
                stream.Complete(new RunEnd(null, null, 3, []));
            });
            for (int i = 0; i < 3; i++)
            {
                Assert.True(await stream.MoveNextAsync());
                Assert.Equal(i, stream.Current);
                if (i == 1)
                {
                    last.SetResult();
                }
            }

            Assert.False(await stream.MoveNextAsync());
            await worker;
        },
        new ExploreOptions { StoreBuffers = true });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Chunks_OfTwoWorkers_GiveEachResult(bool ordered) => output.Explored(async () =>
    {
        StreamOutput<int> stream = new(ordered, 2, 18, static _ => new NoRun()) { MoreLooks = 0 };
        Task first = Task.Run(() => Fill(stream, 0));
        Task second = Task.Run(() =>
        {
            Fill(stream, 2);
            stream.Skip(4);
            stream.Add(5, 5);
        });
        Task end = Task.WhenAll(first, second).ContinueWith(_ => stream.Complete(new RunEnd(null, null, 6, [])), TaskScheduler.Default);
        List<int> seen = [];
        while (await stream.MoveNextAsync())
        {
            seen.Add(stream.Current);
        }

        Assert.Equal([0, 1, 2, 3, 5], ordered ? seen : seen.Order());
        await end;

        static void Fill(StreamOutput<int> stream, int first)
        {
            ResultChunk? held = null;
            stream.Open(ref held, first, 2);
            Unsafe.As<ResultChunk<int>>(held!).Store(first, first);
            Unsafe.As<ResultChunk<int>>(held!).Store(first + 1, first + 1);
            stream.Close(ref held);
        }
    });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Chunk_LeftByItsConsumer_IsClosedOnce(bool ordered) => output.Explored(async () =>
    {
        StreamOutput<int> stream = new(ordered, 1, 19, static _ => new NoRun()) { MoreLooks = 0 };
        ResultChunk? held = null;
        Task worker = Task.Run(() =>
        {
            stream.Open(ref held, 0, 3);
            Unsafe.As<ResultChunk<int>>(held!).Store(0, 0);

            // Its call is given up, and comes back.
            Task other = Task.Run(() => stream.Close(ref held));
            stream.Close(ref held);
            stream.Complete(new RunEnd(null, null, 1, []));
            return other;
        });
        Assert.True(await stream.MoveNextAsync());
        await stream.DisposeAsync();
        Assert.False(await stream.MoveNextAsync());
        await worker;
        Assert.Null(held);
    });

    /// <summary>A run that ends by itself.</summary>
    private sealed class NoRun : IRunHandle
    {
        public bool HasFailed => false;

        public void Cancel(CancellationToken by)
        {
        }

        public void Abandon()
        {
        }

        public void Release()
        {
        }
    }
}
