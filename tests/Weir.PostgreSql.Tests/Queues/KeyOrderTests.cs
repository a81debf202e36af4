using System.Collections.Concurrent;
using System.Globalization;
using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Items of the same key, in the order in which they were enqueued.</summary>
public sealed class KeyOrderTests(PostgresServer server) : QueueTest(server)
{
    private static readonly Func<PostgresWorkQueueOptions, PostgresWorkQueueOptions> Keyed = static o => o with { KeepKeyOrder = true, MaxItemsPerBatch = 7 };

    [Fact(Timeout = Limit)]
    public async Task Read_FourConsumers_HaveEachKeyInOrderAndNeverTwice()
    {
        const int Count = 600;
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(Keyed);
        var random = new Random(7);
        IReadOnlyList<WorkItem<string>> items = Values(Count, _ => random.Next(10) == 0 ? null : $"{random.Next(6)}");
        var held = new ConcurrentDictionary<string, IWorkSource<string>>();
        var order = new ConcurrentDictionary<string, List<int>>();
        var done = new ConcurrentDictionary<int, int>();
        using var stop = new CancellationTokenSource();
        async Task ConsumeAsync(int seed)
        {
            var choice = new Random(seed);
            await using IWorkSource<string> source = await queue.OpenSourceAsync();
            try
            {
                while (await source.ReadAsync(stop.Token) is { } batch)
                {
                    string[] keys = [.. batch.Items.Select(static i => i.Key!).Where(static k => k is not null).Distinct()];
                    Assert.All(keys, key => Assert.True(held.TryAdd(key, source), $"Key {key} was held twice."));
                    await Task.Yield();
                    bool isDone = choice.Next(4) > 0;
                    foreach (WorkItem<string> item in isDone ? batch.Items : [])
                    {
                        int number = int.Parse(item.Value, CultureInfo.InvariantCulture);
                        Assert.True(done.TryAdd(number, 1), $"Item {number} was delivered twice.");
                        if (item.Key is not null)
                        {
                            order.GetOrAdd(item.Key, static _ => []).Add(number);
                        }
                    }

                    Assert.All(keys, key => Assert.True(held.TryRemove(key, out _)));
                    await (isDone ? source.AcknowledgeAsync([batch], CancellationToken.None) : source.ReturnAsync([batch], CancellationToken.None));
                }
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
                // All has been seen.
            }
        }

        Task[] consumers = [.. Enumerable.Range(0, 4).Select(ConsumeAsync)];
        foreach (WorkItem<string>[] part in items.Chunk(50))
        {
            await queue.EnqueueAsync(part);
        }

        await Guard.UntilAsync(() => done.Count == Count || consumers.Any(static c => c.IsFaulted), "Everything delivered");
        await stop.CancelAsync();
        await Task.WhenAll(consumers).WithinAsync("the consumers");
        Assert.All(order.Values, static seen => Assert.Equal(seen.Order(), seen));
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Read_ItemOfTheKeyIsNotDone_OthersOfTheKeyWait()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(Keyed);
        await queue.EnqueueAsync([WorkItem.Create("a1", "a"), WorkItem.Create("a2", "a"), WorkItem.Create("b1", "b")]);
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(first);
        Assert.Equal(["a1", "a2", "b1"], ValuesOf(batch));
        await queue.EnqueueAsync([WorkItem.Create("a3", "a"), WorkItem.Create("c1", "c")]);
        Assert.Equal(["c1"], ValuesOf(await NextAsync(second)));
        Task<WorkBatch<string>> next = NextAsync(second);
        await first.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(["a3"], ValuesOf(await next));
    }

    // All items of a batch are done together, and those of a key one after the other: a batch of one key would keep the others waiting.
    [Fact(Timeout = Limit)]
    public async Task Read_ManyItemsOfEachKey_SharesTheBatchAmongTheKeys()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { KeepKeyOrder = true, MaxItemsPerBatch = 64 });
        await queue.EnqueueAsync(Values(640, static i => $"{i / 40}"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        for (int part = 0; part < 10; part++)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal(
                Enumerable.Range(0, 16).SelectMany(k => Enumerable.Range((k * 40) + (part * 4), 4)).Select(static i => $"{i}"), ValuesOf(batch));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Read_OneKeyWithManyItemsBesideKeysWithOne_FillsTheBatchWithIt()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { KeepKeyOrder = true, MaxItemsPerBatch = 64 });
        await queue.EnqueueAsync(Values(203, static i => i < 3 ? $"{i}" : "hot"));
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(Values(64).Select(static v => v.Value), ValuesOf(await NextAsync(source)));
    }

    // What is not in the transaction cannot be missed: whoever waits is notified after the commit, and does not have to poll for it.
    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Settle_ABatchOfAKey_WakesAnotherSourceAfterItsCommit(bool isDone)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(
            static o => o with { KeepKeyOrder = true, MaxItemsPerBatch = 1, PollInterval = TimeSpan.FromHours(1) });
        await queue.EnqueueAsync([WorkItem.Create("a1", "a"), WorkItem.Create("a2", "a")]);
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(first);
        Task<WorkBatch<string>> next = NextAsync(second);
        await (isDone ? first.AcknowledgeAsync([batch], CancellationToken.None) : first.ReturnAsync([batch], CancellationToken.None));
        Assert.Equal([isDone ? "a2" : "a1"], ValuesOf(await next));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Statements_ThatSettleItems_NotifyNobodyThemselves(bool isKeyed)
    {
        QueueStatements statements = new("work", Options with { KeepKeyOrder = isKeyed });
        string[] settling =
        [
            statements.Acknowledge, statements.AcknowledgePacks, statements.Return, statements.ReturnPacks, statements.Redeliver, statements.Replay,
            statements.Bury,
        ];
        Assert.All(settling, static statement => Assert.DoesNotContain("notify", statement, StringComparison.OrdinalIgnoreCase));
    }

    [Fact(Timeout = Limit)]
    public async Task Read_EarlierItemIsCommittedLater_WaitsForTheOneThatIsOut()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(Keyed);
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
        await queue.EnqueueAsync(transaction, [WorkItem.Create("early", "a")]);
        await queue.EnqueueAsync([WorkItem.Create("late", "a")]);
        await using IWorkSource<string> first = await queue.OpenSourceAsync();
        await using IWorkSource<string> second = await queue.OpenSourceAsync();
        WorkBatch<string> batch = await NextAsync(first);
        await transaction.CommitAsync();
        await queue.EnqueueAsync([WorkItem.Create("other")]);
        Assert.Equal(["other"], ValuesOf(await NextAsync(second)));
        await first.AcknowledgeAsync([batch], CancellationToken.None);
        Assert.Equal(["early"], ValuesOf(await NextAsync(second)));
    }

    [Fact(Timeout = Limit)]
    public async Task Lease_EndedOfAKey_KeepsItsOrderWhileItsItemsAreSuspect()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(Keyed);
        await queue.EnqueueAsync([.. Enumerable.Range(0, 3).Select(static i => WorkItem.Create($"a{i}", "a"))]);
        await using IWorkSource<string> lost = await queue.OpenSourceAsync();
        Assert.Equal(3, (await NextAsync(lost)).Items.Count);
        await EndLeasesAsync();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await queue.EnqueueAsync([WorkItem.Create("a3", "a")]);
        for (int i = 0; i < 4; i++)
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal([$"a{i}"], ValuesOf(batch));
            Assert.Equal(i < 3, batch.IsSuspect);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }
    }
}
