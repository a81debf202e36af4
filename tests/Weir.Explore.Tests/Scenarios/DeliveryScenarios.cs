using Weir.Delivery;
using Weir.Runtimes;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Queues in memory, and hosts that work on them.</summary>
public class DeliveryScenarios(ITestOutputHelper output)
{
    [Fact]
    public void Readers_OfAQueue_GetEachItemOnce() => output.Explored(static async () =>
    {
        await using MemoryWorkQueue<string> queue = await QueueAsync([]);
        List<string> read = [];
        Task[] reading = [Task.Run(ReadAsync), Task.Run(ReadAsync)];
        await PublishAsync(queue, ["a", "b"]);
        queue.Complete();
        await Task.WhenAll(reading);
        Assert.Equal(["a", "b"], read.Order());
        Assert.Equal(0, queue.Count);

        async Task ReadAsync()
        {
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            while (await source.ReadAsync(default) is { } batch)
            {
                lock (read)
                {
                    read.AddRange(batch.Items.Select(static i => i.Value));
                }

                await source.AcknowledgeAsync([batch], default);
            }
        }
    });

    [Fact]
    public void Reader_Cancelled_LeavesTheItemToTheOther() => output.Explored(static async () =>
    {
        await using MemoryWorkQueue<string> queue = await QueueAsync([]);
        using CancellationTokenSource cancel = new();
        Task first = Task.Run(() => ReadAsync(cancel.Token));
        Task second = Task.Run(() => ReadAsync(default));
        Task cancelling = Task.Run(cancel.Cancel);
        await PublishAsync(queue, ["a"]);
        await Task.WhenAny(first, second);
        await cancelling;
        queue.Complete();
        await Task.WhenAll(first, second);
        Assert.Equal(0, queue.Count);

        async Task ReadAsync(CancellationToken token)
        {
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            try
            {
                while (await source.ReadAsync(token) is { } batch)
                {
                    await source.AcknowledgeAsync([batch], default);
                }
            }
            catch (OperationCanceledException) when (token.IsCancellationRequested)
            {
            }
        }
    });

    [Fact]
    public void Writers_AtTheCapacity_GoOnWhenThereIsRoom() => output.Explored(static async () =>
    {
        await using MemoryWorkQueue<string> queue = await QueueAsync([], capacity: 1);
        Task writing = Task.WhenAll(Task.Run(() => PublishAsync(queue, ["a", "b"])), Task.Run(() => PublishAsync(queue, ["c"])));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        bool isReturned = false;
        List<string> read = [];
        while (read.Count < 3)
        {
            WorkBatch<string> batch = (await source.ReadAsync(default))!;
            if (!isReturned)
            {
                isReturned = true;
                await source.ReturnAsync([batch], default);
                continue;
            }

            read.AddRange(batch.Items.Select(static i => i.Value));
            await source.AcknowledgeAsync([batch], default);
        }

        await writing;
        Assert.Equal(["a", "b", "c"], read.Order());
        Assert.Equal(0, queue.Count);
    });

    [Fact]
    public void Source_DisposedAsItAcknowledges_GivesBackOnce() => output.Explored(static async () =>
    {
        await using MemoryWorkQueue<string> queue = await QueueAsync(["a"]);
        IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = (await source.ReadAsync(default))!;
        Task disposing = Task.Run(() => source.DisposeAsync().AsTask());
        await source.AcknowledgeAsync([batch], default);
        await disposing;

        // Acknowledged, or back in the queue for another reader.
        if (queue.Count == 1)
        {
            await using IWorkSource<string> next = await queue.OpenSourceAsync();
            Assert.Equal("a", Assert.Single((await next.ReadAsync(default))!.Items).Value);
        }
    });

    [Fact]
    public void Host_StoppedAtAnyTime_HasDoneOrReturnedEachItem() => output.Explored(static async () =>
    {
        await using MemoryWorkQueue<string> queue = await QueueAsync(["a", "b"]);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using DirectRuntime runtime = new();
        int calls = 0;
        WorkHost<string> host = new(
            source,
            runtime,
            (item, token) =>
            {
                Interlocked.Increment(ref calls);
                return default;
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text });
        using CancellationTokenSource stop = new();
        Task stopping = Task.Run(stop.Cancel);
        await host.RunAsync(stop.Token);
        await stopping;
        Assert.Equal(2, calls + queue.Count);
        Assert.Equal(host.Statistics.Read, calls + host.Statistics.Returned);
    });

    [Fact]
    public void Host_StoppedWhileItsSourceReads_BeginsAndDeadLettersNothingElse() => output.Explored(static async () =>
    {
        // The last read does not look at its token.
        await using ListSource source = new([new([Item(0)], "0"), new([Item(1)], "1"), new([Item(2)], "2") { Crashes = 2, IsSuspect = true }], isHeldAtTheEnd: true);
        await using DirectRuntime runtime = new();
        MemoryDeadLetters letters = new();
        TaskCompletionSource first = new();
        int begun = 0;
        WorkHost<int> host = new(
            source,
            runtime,
            async (_, _) =>
            {
                Interlocked.Increment(ref begun);
                await first.Task;
            },
            new WorkHostOptions<int> { DeadLetters = letters, Serializer = WorkSerializer.Json<int>(), MaxItemsPerCall = 1, MaxCrashes = 2 });
        using CancellationTokenSource stop = new();
        Task run = Task.Run(() => host.RunAsync(stop.Token));
        await source.AtTheEnd;
        await Task.Delay(1);
        stop.Cancel();
        first.SetResult();

        // Until nobody else can run.
        await Task.Delay(1);
        Assert.Equal(1, begun);
        source.End();
        await run;
        Assert.Equal((1, 1L, 2L, 0L), (begun, host.Statistics.Succeeded, host.Statistics.Returned, host.Statistics.DeadLettered));
    });

    /// <summary>Whether a batch is done as it is read, because it has no items, is asked under the lock: its item may have ended by then, elsewhere.</summary>
    [Fact]
    public void Batch_ReadAsACallEnds_IsLookedAtInOrder() => output.Explored(
        static async () =>
        {
            TaskCompletionSource first = new(TaskCreationOptions.RunContinuationsAsynchronously);
            TaskCompletionSource second = new();
            ListSource source = new([new([Item(0)], "0"), new([Item(1)], "1")], isHeldAtTheEnd: true, atSecond: first.SetResult);
            WorkHost<int> host = new(
                source,
                new DirectRuntime(),
                (item, _) =>
                {
                    if (item.Value == 1)
                    {
                        second.SetResult();
                    }

                    return item.Value == 0 ? new ValueTask(first.Task) : default;
                },
                new WorkHostOptions<int> { DeadLetters = new MemoryDeadLetters(), Serializer = WorkSerializer.Json<int>() });
            _ = host.RunAsync();

            // What follows has one order.
            await second.Task;
        },
        new ExploreOptions { DataRaces = true });

    [Fact]
    public void Items_AcknowledgedWhileTheirBatchGoesOn_HaveOneOutcomeAndComeBeforeIt() => output.Explored(static async () =>
    {
        await using ItemSource source = new(2);
        await using DirectRuntime runtime = new();
        TaskCompletionSource first = new();
        Task ending = Task.Run(first.SetResult);
        WorkHost<int> host = new(
            source,
            runtime,
            async (item, _) => await (item.Value == 1 ? first.Task : Task.CompletedTask),
            new WorkHostOptions<int>
            {
                DeadLetters = new MemoryDeadLetters(), Serializer = WorkSerializer.Json<int>(), TimeProvider = new FewTicksClock(2), MaxItemsPerCall = 2,
            });
        await host.RunAsync();
        await ending;
        Assert.True(source.Acknowledged is ["batch"] or ["0" or "1", "batch"], string.Join(", ", source.Acknowledged));
        Assert.Equal((2, 0, 1), (host.Statistics.Succeeded, host.Statistics.Returned, host.Statistics.AcknowledgedBatches));
    });

    [Fact]
    public void Fault_OfACallThatWorksAgain_IsNotTheLastOneAnyMore() => output.Explored(
        static async () =>
        {
            Repeater repeater = new(TimeProvider.System, null);
            int attempts = 0;
            Task repeated = Task.Run(() => repeater.RunAsync(_ => ++attempts == 1 ? throw new IOException() : default, default).AsTask());
            await repeater.RunAsync(static _ => default, default);
            await repeated;
            Assert.Equal((1, null), (repeater.Faults, repeater.Last));
        },
        new ExploreOptions { TimersFireAnyTime = true });

    [Fact]
    public void Redelivery_AsTheQueueIsCompleted_ComesBack() => output.Explored(static async () =>
    {
        await using MemoryWorkQueue<string> queue = await QueueAsync(["a"]);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkBatch<string> batch = (await source.ReadAsync(default))!;
        Task completing = Task.Run(queue.Complete);
        await source.Redelivery!.RedeliverAsync(batch, [batch.Items[0].Again()], TimeSpan.FromSeconds(1), default);
        await source.AcknowledgeAsync([batch], default);
        WorkBatch<string> again = (await source.ReadAsync(default))!;
        Assert.Equal(2, Assert.Single(again.Items).Attempt);
        await source.AcknowledgeAsync([again], default);
        await completing;
        Assert.Null(await source.ReadAsync(default));
    });

    private static WorkItem<int> Item(int value) => WorkItem.Create(value);

    /// <summary>Gives its batches, one with each read. The read after them ends the source, at once or when it is told to.</summary>
    private sealed class ListSource(WorkBatch<int>[] batches, bool isHeldAtTheEnd, Action? atSecond = null) : IWorkSource<int>
    {
        private readonly TaskCompletionSource _atTheEnd = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource _end = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _read;

        public string Name => "list";

        public AcknowledgementOrder Order => AcknowledgementOrder.Any;

        public IRedelivery<int>? Redelivery => null;

        public Task AtTheEnd => _atTheEnd.Task;

        public void End() => _end.SetResult();

        public async ValueTask<WorkBatch<int>?> ReadAsync(CancellationToken cancellationToken)
        {
            if (_read == 1)
            {
                atSecond?.Invoke();
            }

            if (_read < batches.Length)
            {
                return batches[_read++];
            }

            _atTheEnd.TrySetResult();
            await (isHeldAtTheEnd ? _end.Task : Task.CompletedTask);
            return null;
        }

        public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken) => default;

        public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken) => default;

        public ValueTask DisposeAsync() => default;
    }

    private static async Task<MemoryWorkQueue<string>> QueueAsync(string[] values, int capacity = 10)
    {
        MemoryWorkQueue<string> queue = new("memory", WorkSerializer.Text, new MemoryWorkQueueOptions { MaxItemsPerBatch = 1, Capacity = capacity });
        await PublishAsync(queue, values);
        return queue;
    }

    private static async Task PublishAsync(MemoryWorkQueue<string> queue, string[] values)
    {
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await sink.WriteAsync([.. values.Select(static (v, i) => new WorkItem<string>(new WorkId("test", i), v))], null, default);
    }
}
