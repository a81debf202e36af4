using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>A publisher that repeats what it does not know to be stored.</summary>
public sealed class RepeatedPublishTests(PostgresServer server) : QueueTest(server)
{
    private string Published => $"{SqlName.Quote(Schema)}.published";

    [Theory(Timeout = Limit)]
    [InlineData(3, false)]
    [InlineData(2500, false)]
    [InlineData(3, true)]
    [InlineData(2500, true)]
    public async Task Enqueue_SameIdentitiesAgain_EnqueuesEachOnce(int count, bool isKeyed)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { KeepKeyOrder = isKeyed });
        IReadOnlyList<WorkItem<string>> items = Values(count, static i => i % 2 == 0 ? "even" : null);
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync(items, null, CancellationToken.None);
            await sink.WriteAsync(items, null, CancellationToken.None);
        }

        Assert.Equal(count, await CountAsync());

        // Some that were there and some that were not; also in another order, and twice in one call.
        await queue.EnqueueAsync([.. Values(count + 2).Reverse(), .. Values(count + 3)]);
        await queue.EnqueueAsync([new WorkItem<string>(new WorkId("other", int.MaxValue), "x"), .. Values(1)]);
        Assert.Equal(count + 4, await CountAsync());
        Assert.Equal(2, await ScalarAsync<long>($"SELECT count(*) FROM {Published}"));

        // They are known also when they are done.
        await ExecuteAsync($"DELETE FROM {Items}");
        if (!isKeyed)
        {
            await ExecuteAsync($"DELETE FROM {Packs}");
        }

        await queue.EnqueueAsync(items);
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_InOrder_IsTakenInOrder()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { KeepKeyOrder = true });
        WorkItem<string>[] items = [.. Enumerable.Range(0, 200).Select(static i => new WorkItem<string>(new WorkId($"{i * 7919 % 200}", 0), $"{i}", "k"))];
        await queue.EnqueueAsync(items);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(items.Select(static i => i.Value), ValuesOf(await NextAsync(source)));
    }

    // Of one message, as rows and as a pack: those that are new are taken together, and otherwise each is looked at.
    [Theory(Timeout = Limit)]
    [InlineData(3, false)]
    [InlineData(20, false)]
    [InlineData(3, true)]
    [InlineData(20, true)]
    public async Task Enqueue_PartsOfOneMessage_RemembersExactlyWhatIsStored(int count, bool isInTransaction)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        IReadOnlyList<WorkItem<string>> items = Values(count * 4);
        Assert.Equal(count, await EnqueueAsync([.. items.Take(count)]));
        Assert.Equal(count, await EnqueueAsync([.. items.Skip(2 * count).Take(count).Reverse()]));
        Assert.Equal($"{{[0,{count}),[{2 * count},{3 * count})}}", await PlacesAsync());

        // The last of the first part, a whole new one, and the first of the next: nothing but the new one.
        Assert.Equal(count, await EnqueueAsync([.. items.Skip(count - 1).Take(count + 2)]));
        Assert.Equal(0, await EnqueueAsync([.. items.Take(3 * count)]));
        Assert.Equal($"{{[0,{3 * count})}}", await PlacesAsync());
        Assert.Equal(
            items.Take(3 * count).Select(static i => i.Value).Order(),
            (await queue.QueuedItems!.ListAsync().ToListAsync()).Select(static i => WorkSerializer.Text.Read(i.Payload.Span)).Order());

        async Task<int> EnqueueAsync(IReadOnlyList<WorkItem<string>> some)
        {
            if (!isInTransaction)
            {
                return await queue.EnqueueAsync(some);
            }

            await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
            await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
            int added = await queue.EnqueueAsync(transaction, some);
            await transaction.CommitAsync();
            return added;
        }

        Task<string> PlacesAsync() => ScalarAsync<string>($"SELECT places::text FROM {Published}");
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Enqueue_WhileTheFirstCallIsNotCommitted_WaitsForItsEnd(bool commits)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
        await queue.EnqueueAsync(transaction, [.. Values(5)]);
        Task again = queue.EnqueueAsync([.. Values(8)]).AsTask();
        string waits = $"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, {SqlName.Literal(Published)}) > 0)";
        await Guard.UntilAsync(() => ScalarAsync<bool>(waits), "The repeated call waits");
        await (commits ? transaction.CommitAsync() : transaction.RollbackAsync());
        await again.WithinAsync();
        Assert.Equal(8, await CountAsync());
        Assert.Equal(8, (await queue.QueuedItems!.ListAsync().ToListAsync()).DistinctBy(static i => i.Id).Count());
    }

    [Fact(Timeout = Limit)]
    public async Task History_IsOver_ForgetsAndTakesTheIdentityAgain()
    {
        var clock = new ManualTimeProvider();
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { TimeProvider = clock, DuplicateHistory = TimeSpan.FromMinutes(5) });
        await queue.EnqueueAsync(Values(1));
        await queue.EnqueueAsync([WorkItem.Create("young")]);
        await ExecuteAsync($"UPDATE {Published} SET time = now() - interval '6 minutes' WHERE origin = 'values'");
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await Guard.UntilAsync(
            () =>
            {
                clock.Advance(LongLease / 4);
                return ScalarAsync<long>($"SELECT count(*) FROM {Published}").GetAwaiter().GetResult() == 1;
            },
            "What is old is forgotten");
        await queue.EnqueueAsync(Values(1));
        Assert.Equal(3, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task History_None_RemembersNothing()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { DuplicateHistory = TimeSpan.Zero });
        await queue.EnqueueAsync(Values(2));
        await queue.EnqueueAsync(Values(2));
        Assert.Equal(4, await CountAsync());
        Assert.Equal(0, await ScalarAsync<long>($"SELECT count(*) FROM {Published}"));
        Assert.Equal(
            nameof(PostgresWorkQueueOptions.DuplicateHistory),
            Assert.Throws<ArgumentOutOfRangeException>(() => Queue(static o => o with { DuplicateHistory = TimeSpan.FromSeconds(1) })).ParamName);
    }
}
