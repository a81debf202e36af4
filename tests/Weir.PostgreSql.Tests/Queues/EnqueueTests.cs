using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Enqueueing inside the caller's own transaction.</summary>
public sealed class EnqueueTests(PostgresServer server) : QueueTest(server)
{
    [Theory(Timeout = Limit)]
    [InlineData(true, 3)]
    [InlineData(false, 3)]
    [InlineData(true, 2500)]
    [InlineData(false, 2500)]
    public async Task Enqueue_InTheCallersTransaction_SharesItsEnd(bool commit, int count)
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await ExecuteAsync($"CREATE TABLE {SqlName.Quote(Schema)}.orders (number int)");
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using (NpgsqlTransaction transaction = await connection.BeginTransactionAsync())
        {
            await using var insert = new NpgsqlCommand($"INSERT INTO {SqlName.Quote(Schema)}.orders VALUES (1)", connection);
            await insert.ExecuteNonQueryAsync();
            await queue.EnqueueAsync(transaction, Values(count));
            Assert.Equal(0, await CountAsync());
            await (commit ? transaction.CommitAsync() : transaction.RollbackAsync());
        }

        Assert.Equal(commit ? count : 0, await CountAsync());
        Assert.Equal(commit ? 1L : 0, await ScalarAsync<long>($"SELECT count(*) FROM {SqlName.Quote(Schema)}.orders"));
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_InATransaction_NotifiesAfterItsCommitOnly()
    {
        ManualTimeProvider clock = new();
        TimeSpan poll = TimeSpan.FromHours(1);
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(o => o with { PollInterval = poll, TimeProvider = clock });
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Task<WorkBatch<string>> next = NextAsync(source);

        // A source that looks for the first time only after the commit finds the items without being told.
        await Guard.UntilAsync(() => clock.IsArmedFor(poll), "the source's wait");
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync();
        await queue.EnqueueAsync(connection, Values(2));
        await Guard.SettleAsync();
        Assert.False(next.IsCompleted);
        await transaction.CommitAsync();

        // The server's queue of notifications has nothing of the transaction: one that comes later would be delivered after it.
        await Guard.SettleAsync();
        Assert.False(next.IsCompleted);
        await Task.WhenAll(Enumerable.Range(0, 100).Select(_ => queue.NotifyAsync())).WithinAsync("the notifications");
        Assert.Equal(["0", "1"], ValuesOf(await next));
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_Items_NotifiesAfterItsCommitAndDisposingWaitsForIt()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { PollInterval = TimeSpan.FromHours(1) });
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Task<WorkBatch<string>> next = NextAsync(source);

        // A publisher that ends with its connections at once, as a command does.
        await using (NpgsqlDataSource own = NpgsqlDataSource.Create(Server.ConnectionString))
        await using (var publisher = new PostgresWorkQueue<string>(own, "work", WorkSerializer.Text, Options))
        {
            Assert.DoesNotContain("pg_notify", publisher.Statements.Enqueue, StringComparison.Ordinal);
            Assert.Equal(2, await publisher.EnqueueAsync(Values(2)));
        }

        Assert.Equal(["0", "1"], ValuesOf(await next));
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_WithoutNotifications_IsFoundByPolling()
    {
        await using PostgresWorkQueue<string> queue =
            await NewQueueAsync(static o => o with { UseNotifications = false, PollInterval = TimeSpan.FromMilliseconds(20) });
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Task<WorkBatch<string>> next = NextAsync(source);
        await queue.EnqueueAsync(Values(1));
        Assert.Equal(["0"], ValuesOf(await next));
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_WithADelay_IsNotDeliveredBefore()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync();
        await queue.EnqueueAsync(Values(2), TimeSpan.FromDays(3));
        await queue.EnqueueAsync([WorkItem.Create("now")]);
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        Assert.Equal(["now"], ValuesOf(await NextAsync(source)));
        await ExecuteAsync($"UPDATE {Items} SET due = now() WHERE consumer IS NULL AND place = 1");
        Assert.Equal(["1"], ValuesOf(await (await OpenAnotherAsync(queue)).ReadAsync(CancellationToken.None).WithinAsync() ?? throw new TestException("end")));
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Enqueue_Again_SaysHowManyAreNew(bool remembers)
    {
        await using PostgresWorkQueue<string> queue =
            await NewQueueAsync(o => o with { DuplicateHistory = remembers ? TimeSpan.FromMinutes(10) : TimeSpan.Zero });

        // So many that it takes several statements.
        WorkItem<string>[] items = [.. Values(2500)];
        Assert.Equal(1000, await queue.EnqueueAsync(items[..1000]));
        Assert.Equal(remembers ? 1500 : 2500, await queue.EnqueueAsync(items));
        Assert.Equal(0, await queue.EnqueueAsync([]));
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        Assert.Equal(remembers ? 0 : 3, await queue.EnqueueAsync(connection, items[..3]));
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_WhatCannotBeStored_IsRefusedWithAReason()
    {
        await using PostgresWorkQueue<string> queue = await NewQueueAsync(static o => o with { MaxItemBytes = 10 });
        ArgumentException tooLong = await Assert.ThrowsAsync<ArgumentException>(async () => await queue.EnqueueAsync([WorkItem.Create("12345678901")]));
        Assert.Contains("11 bytes", tooLong.Message, StringComparison.Ordinal);
        foreach (string key in new[] { "a\0", "\uD800", new string('k', 1001) })
        {
            await Assert.ThrowsAsync<ArgumentException>(async () => await queue.EnqueueAsync([WorkItem.Create("1", key)]));
        }

        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(async () => await queue.EnqueueAsync(Values(1), TimeSpan.FromTicks(-1)));
        Assert.Equal(0, await CountAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Enqueue_AllBytes_ComeBackAsTheyAre()
    {
        var queue = new PostgresWorkQueue<byte[]>(Source, "bytes", WorkSerializer.Bytes, Options);
        await queue.SetupAsync();
        byte[] all = [.. Enumerable.Range(0, 70_000).Select(static i => (byte)(i * 7))];
        await queue.EnqueueAsync([WorkItem.Create(all), WorkItem.Create(Array.Empty<byte>())]);
        await using IWorkSource<byte[]> source = await queue.OpenSourceAsync();
        WorkBatch<byte[]> batch = (await source.ReadAsync(CancellationToken.None).WithinAsync())!;
        Assert.Equal(all, batch.Items[0].Value);
        Assert.Empty(batch.Items[1].Value);
    }

    private static async Task<IWorkSource<string>> OpenAnotherAsync(PostgresWorkQueue<string> queue) => await queue.OpenSourceAsync();
}
