using System.Collections.Concurrent;
using System.Globalization;
using System.Text;
using Weir.Runtimes;

namespace Weir.Delivery.TestKit;

/// <summary>What every queue of work promises, in memory or on a server. A class derives from it for each engine.</summary>
public abstract partial class WorkQueueContract
{
    /// <summary>Milliseconds after which a test hangs.</summary>
    protected const int Limit = 120_000;

    /// <summary>The shortest delay before another attempt that the engine keeps.</summary>
    protected virtual TimeSpan ShortDelay => TimeSpan.FromMilliseconds(1);

    /// <summary>A queue of its own for a test, set up.</summary>
    protected abstract Task<IWorkQueue<string>> NewQueueAsync();

    [Fact(Timeout = Limit)]
    public async Task Write_Items_AreDeliveredAsTheyAre()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        var headers = new Dictionary<string, string> { ["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
        WorkItem<string>[] items =
        [
            new(new WorkId("a", 0), "first", "k", 1, headers),
            new(new WorkId("a", 1), ""),
            new(new WorkId("b", 7), "ünï ©ode \u0000 \U0001F600", "other", 3),
        ];
        await PublishAsync(queue, items);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<WorkItem<string>> read = await ReadAsync(source, items.Length);
        Assert.Equal(
            items.Select(static i => (i.Id, i.Value, i.Key, i.Attempt)),
            read.OrderBy(static i => i.Id.ToString(), StringComparer.Ordinal).Select(static i => (i.Id, i.Value, i.Key, i.Attempt)));
        Assert.Equal(headers["traceparent"], read.Single(static i => i.Id == new WorkId("a", 0)).Headers!["traceparent"]);
    }

    /// <summary>Whether the engine bounds the values of items, by a mebibyte unless its options say otherwise.</summary>
    protected virtual bool BoundsValues => true;

    [Fact(Timeout = Limit)]
    public async Task Write_ValueOfAMebibyte_IsTakenAndOneByteMoreIsNot()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        var headers = new Dictionary<string, string> { ["h"] = new('h', 1000) };
        var largest = new WorkItem<string>(new WorkId("a", 0), new string('x', 1 << 20), new string('k', 200), 1, headers);
        await PublishAsync(queue, [largest]);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(1 << 20, (await ReadAsync(source, 1, acknowledge: true)).Single().Value.Length);
        if (BoundsValues)
        {
            WorkRefusedException refused = await Assert.ThrowsAsync<WorkRefusedException>(
                () => PublishAsync(queue, [new WorkItem<string>(new WorkId("a", 1), largest.Value + "x")]));
            Assert.Equal(DeadLetterReason.TooLarge, refused.Items.Single().Reason);
            Assert.Contains("1,048,577 bytes, and the queue takes at most 1,048,576 (MaxItemBytes)", refused.Message, StringComparison.Ordinal);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Write_ManyItems_AreAllDelivered()
    {
        const int Count = 5000;
        await using IWorkQueue<string> queue = await NewQueueAsync();
        IReadOnlyList<WorkItem<string>> items = Items(Count);
        await PublishAsync(queue, items);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<WorkItem<string>> read = await ReadAsync(source, Count, acknowledge: true);
        Assert.Equal(Texts(items.Select(static i => i.Id)), Texts(read.Select(static i => i.Id)));
    }

    [Fact(Timeout = Limit)]
    public async Task Acknowledge_Batches_AreNotDeliveredAgain()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await PublishAsync(queue, Items(10));
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            await ReadAsync(source, 10, acknowledge: true);
        }

        await PublishAsync(queue, [WorkItem.Create("last")]);
        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        Assert.Equal(["last"], (await ReadAsync(next, 1)).Select(static i => i.Value));
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_NotAcknowledged_GoesToAnotherConsumer()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        IReadOnlyList<WorkItem<string>> items = Items(10);
        await PublishAsync(queue, items);
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            await ReadAsync(source, 10);
        }

        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        List<WorkItem<string>> again = await ReadAsync(next, 10, acknowledge: true);
        Assert.Equal(Texts(items.Select(static i => i.Id)), Texts(again.Select(static i => i.Id)));
        Assert.All(again, static i => Assert.Equal(1, i.Attempt));
    }

    [Fact(Timeout = Limit)]
    public async Task Return_Batches_AreDeliveredAgainAndAreNotSuspect()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await PublishAsync(queue, Items(5));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        List<WorkBatch<string>> batches = await ReadBatchesAsync(source, 5);
        await source.ReturnAsync(batches, CancellationToken.None);
        List<WorkBatch<string>> again = await ReadBatchesAsync(source, 5);
        Assert.All(again, static b => Assert.False(b.IsSuspect));
        Assert.All(again.SelectMany(static b => b.Items), static i => Assert.Equal(1, i.Attempt));
        await source.AcknowledgeAsync(again, CancellationToken.None);
    }

    [Fact(Timeout = Limit)]
    public async Task Redeliver_SomeItems_ComeAgainAndTheOthersDoNot()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        IReadOnlyList<WorkItem<string>> items = Items(6);
        await PublishAsync(queue, items);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.NotNull(source.Redelivery);
        List<WorkBatch<string>> batches = await ReadBatchesAsync(source, 6);
        foreach (WorkBatch<string> batch in batches)
        {
            WorkItem<string>[] odd = [.. batch.Items.Where(static i => i.Id.Index % 2 == 1).Select(static i => i.Again())];
            if (odd.Length > 0)
            {
                await source.Redelivery.RedeliverAsync(batch, odd, ShortDelay, CancellationToken.None);
            }
        }

        await source.AcknowledgeAsync(batches, CancellationToken.None);
        List<WorkItem<string>> again = await ReadAsync(source, 3, acknowledge: true);
        Assert.Equal([1, 3, 5], again.Select(static i => i.Id.Index).Order());
        Assert.All(again, static i => Assert.Equal(2, i.Attempt));
        Assert.Equal(items.Where(static i => i.Id.Index % 2 == 1).Select(static i => i.Value).Order(), again.Select(static i => i.Value).Order());
    }

    [Fact(Timeout = Limit)]
    public async Task Read_Cancelled_LosesNothing()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        for (int round = 0; round < 20; round++)
        {
            using var cancellation = new CancellationTokenSource();
            Task<WorkBatch<string>?> read = source.ReadAsync(cancellation.Token).AsTask();
            Task publish = PublishAsync(queue, [WorkItem.Create(round.ToString(CultureInfo.InvariantCulture))]);
            await cancellation.CancelAsync();
            await publish.WithinAsync();
            WorkBatch<string>? batch;
            try
            {
                batch = await read.WithinAsync();
            }
            catch (OperationCanceledException)
            {
                batch = await source.ReadAsync(CancellationToken.None).WithinAsync();
            }

            Assert.Equal(round.ToString(CultureInfo.InvariantCulture), Assert.Single(batch!.Items).Value);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Sources_Two_ShareTheItems()
    {
        const int Count = 400;
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        var seen = new ConcurrentBag<WorkId>();
        using var all = new CancellationTokenSource();
        async Task ConsumeAsync(IWorkSource<string> source)
        {
            try
            {
                while (await source.ReadAsync(all.Token) is { } batch)
                {
                    await source.AcknowledgeAsync([batch], CancellationToken.None);
                    foreach (WorkItem<string> item in batch.Items)
                    {
                        seen.Add(item.Id);
                    }
                }
            }
            catch (OperationCanceledException)
            {
                // All has been seen.
            }
        }

        Task[] consumers = [ConsumeAsync(first), ConsumeAsync(second)];
        IReadOnlyList<WorkItem<string>> items = Items(Count);
        await PublishAsync(queue, items);
        await Guard.UntilAsync(() => seen.Count >= Count, "Everything delivered");
        await all.CancelAsync();
        await Task.WhenAll(consumers).WithinAsync();
        Assert.Equal(Texts(items.Select(static i => i.Id)), Texts(seen));
    }

    [Fact(Timeout = Limit)]
    public async Task DeadLetters_Kept_CanBeListedFoundReplayedAndRemoved()
    {
        await using IWorkQueue<string> queue = await NewQueueAsync();
        DeadLetter[] letters = [.. Enumerable.Range(0, 3).Select(i => Letter(queue, i))];
        await queue.DeadLetters.AddAsync(letters);
        await queue.DeadLetters.AddAsync(letters[..1]);
        List<DeadLetter> listed = await ToListAsync(queue.DeadLetters.ListAsync());
        Assert.Equal(letters.Select(static l => l.Id).Order(), listed.Select(static l => l.Id).Order());
        DeadLetter found = Assert.IsType<DeadLetter>(await queue.DeadLetters.FindAsync("dead/1"));
        Assert.Equal(("dead/1", DeadLetterReason.Failed, "Broken at 1.", 4, "k1"), (found.Id, found.Reason, found.Error, found.Attempts, found.Key));
        Assert.Equal("1", Encoding.UTF8.GetString(found.Payload.Span));
        Assert.Null(await queue.DeadLetters.FindAsync("dead/9"));

        Assert.Equal(1, await queue.DeadLetters.ReplayAsync(["dead/1", "dead/9"]));
        Assert.Equal(1, await queue.DeadLetters.RemoveAsync(["dead/0", "dead/9"]));
        Assert.Equal(["dead/2"], (await ToListAsync(queue.DeadLetters.ListAsync())).Select(static l => l.Id));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        WorkItem<string> item = Assert.Single(await ReadAsync(source, 1, acknowledge: true));
        Assert.Equal((new WorkId("dead", 1), "1", "k1", 1), (item.Id, item.Value, item.Key, item.Attempt));
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Host_ItemsFail_EachHasOneOutcome(bool ordered)
    {
        const int Count = 300;
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await PublishAsync(queue, WorkItem.CreateMany(Enumerable.Range(0, Count).Select(static i => $"{i}"), static v => $"{v.Length}"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using var runtime = new ConcurrentRuntime(16);
        var done = new ConcurrentDictionary<string, int>();
        using var stop = new CancellationTokenSource();
        var host = new WorkHost<string>(
            source,
            runtime,
            async (item, token) =>
            {
                await Task.Yield();
                int number = int.Parse(item.Value, CultureInfo.InvariantCulture);
                if (number % 50 == 0 || (number % 10 == 0 && item.Attempt == 1 && !ordered))
                {
                    throw new TestException($"{number}");
                }

                done.AddOrUpdate(item.Value, 1, static (_, n) => n + 1);
            },
            new WorkHostOptions<string>
            {
                DeadLetters = queue.DeadLetters,
                Serializer = WorkSerializer.Text,
                MaxAttempts = 2,
                RedeliveryDelays = [ShortDelay],
                PartitionBy = ordered ? static i => i.Key : null,
            });
        Task run = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => host.Statistics is { DeadLettered: Count / 50, Succeeded: Count - (Count / 50), InFlight: 0 }, "Everything done");
        await stop.CancelAsync();
        await run.WithinAsync();
        Assert.Equal(WorkHostState.Stopped, host.Statistics.State);
        Assert.Equal(Count - (Count / 50), done.Count);
        Assert.All(done.Values, static n => Assert.Equal(1, n));
        List<DeadLetter> dead = await ToListAsync(queue.DeadLetters.ListAsync());
        Assert.Equal(["0", "100", "150", "200", "250", "50"], dead.Select(static d => Encoding.UTF8.GetString(d.Payload.Span)).Order(StringComparer.Ordinal));
        Assert.All(dead, d => Assert.Equal((DeadLetterReason.Failed, ordered ? 1 : 2), (d.Reason, d.Attempts)));
        Assert.All(dead, static d => Assert.Contains(nameof(TestException), d.Error, StringComparison.Ordinal));
    }

    [Fact(Timeout = Limit)]
    public async Task Host_Keys_AreProcessedInOrder()
    {
        const int Count = 1000;
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await PublishAsync(queue, WorkItem.CreateMany(Enumerable.Range(0, Count).Select(static i => $"{i}"), static v => $"{v[^1]}"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using var runtime = new ConcurrentRuntime(16);
        var order = new ConcurrentDictionary<string, ConcurrentQueue<int>>();
        using var stop = new CancellationTokenSource();
        var host = new WorkHost<string>(
            source,
            runtime,
            async (item, token) =>
            {
                await Task.Yield();
                order.GetOrAdd(item.Key!, static _ => new()).Enqueue(int.Parse(item.Value, CultureInfo.InvariantCulture));
            },
            new WorkHostOptions<string>
            {
                DeadLetters = queue.DeadLetters,
                Serializer = WorkSerializer.Text,
                PartitionBy = static i => i.Key,
                MaxItemsPerCall = 50,
            });
        Task run = host.RunAsync(stop.Token);
        await Guard.UntilAsync(() => host.Statistics is { Succeeded: Count, InFlight: 0 }, "Everything done");
        await stop.CancelAsync();
        await run.WithinAsync();
        Assert.Equal(10, order.Count);
        Assert.All(order.Values, static seen => Assert.Equal(seen.Order(), seen));
    }

    [Fact(Timeout = Limit)]
    public async Task Host_Stopped_GivesBackWhatIsNotDone()
    {
        const int Count = 200;
        await using IWorkQueue<string> queue = await NewQueueAsync();
        await PublishAsync(queue, Items(Count));
        var done = new ConcurrentQueue<WorkId>();
        using var stop = new CancellationTokenSource();
        await using var runtime = new ConcurrentRuntime(4);
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            var host = new WorkHost<string>(
                source,
                runtime,
                async (item, token) =>
                {
                    if (item.Id.Index % 2 == 1)
                    {
                        await stop.CancelAsync();
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                    }

                    done.Enqueue(item.Id);
                },
                new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text, GracePeriod = TimeSpan.Zero });
            await host.RunAsync(stop.Token).WithinAsync();
            Assert.Equal(WorkHostState.Stopped, host.Statistics.State);
        }

        await using IWorkSource<string> next = await queue.OpenSourceAsync();
        HashSet<WorkId> missing = [.. Enumerable.Range(0, Count).Select(static i => new WorkId("items", i)).Except(done)];
        Assert.NotEmpty(missing);
        while (missing.Count > 0)
        {
            WorkBatch<string> batch = (await next.ReadAsync(CancellationToken.None).WithinAsync("the rest"))!;
            missing.ExceptWith(batch.Items.Select(static i => i.Id));
            await next.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Empty(await ToListAsync(queue.DeadLetters.ListAsync()));
    }

    protected static IReadOnlyList<WorkItem<string>> Items(int count) =>
        [.. Enumerable.Range(0, count).Select(static i => new WorkItem<string>(new WorkId("items", i), $"value {i}"))];

    protected static async Task PublishAsync(IWorkQueue<string> queue, IReadOnlyList<WorkItem<string>> items)
    {
        ArgumentNullException.ThrowIfNull(queue);
        await using IWorkSink<string> sink = await queue.OpenSinkAsync();
        await sink.WriteAsync(items, null, CancellationToken.None).WithinAsync("publishing");
    }

    protected static async Task<List<WorkBatch<string>>> ReadBatchesAsync(IWorkSource<string> source, int items)
    {
        ArgumentNullException.ThrowIfNull(source);
        List<WorkBatch<string>> batches = [];
        while (batches.Sum(static b => b.Items.Count) < items)
        {
            batches.Add((await source.ReadAsync(CancellationToken.None).WithinAsync("the next batch"))!);
        }

        return batches;
    }

    protected static async Task<List<WorkItem<string>>> ReadAsync(IWorkSource<string> source, int items, bool acknowledge = false)
    {
        List<WorkItem<string>> read = [];
        while (read.Count < items)
        {
            List<WorkBatch<string>> batches = await ReadBatchesAsync(source, 1);
            read.AddRange(batches.SelectMany(static b => b.Items));
            if (acknowledge)
            {
                await source.AcknowledgeAsync(batches, CancellationToken.None);
            }
        }

        return read;
    }

    protected static async Task<List<DeadLetter>> ToListAsync(IAsyncEnumerable<DeadLetter> letters)
    {
        ArgumentNullException.ThrowIfNull(letters);
        List<DeadLetter> list = [];
        await foreach (DeadLetter letter in letters)
        {
            list.Add(letter);
        }

        return list;
    }

    private static IEnumerable<string> Texts(IEnumerable<WorkId> ids) => ids.Select(static i => i.ToString()).Order(StringComparer.Ordinal);

    private static DeadLetter Letter(IWorkQueue<string> queue, int number) => new()
    {
        Id = $"dead/{number}",
        Source = queue.Name,
        Reason = DeadLetterReason.Failed,
        Error = $"Broken at {number}.",
        Attempts = 4,
        Time = new DateTimeOffset(2026, 1, 1, 0, 0, number, TimeSpan.Zero),
        Key = $"k{number}",
        Payload = Encoding.UTF8.GetBytes($"{number}"),
    };
}
