using System.Collections.Concurrent;
using NpgsqlTypes;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>The checkpoint, the slot, and what is delivered again.</summary>
public sealed class PositionTests(PostgresServer server) : ChangeTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Acknowledge_Batches_SavesTheCheckpointAndOnlyThenMovesTheSlot()
    {
        var store = new WatchedStore();
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 2 }, store);
        await using IWorkSource<string> source = await stream.OpenSourceAsync(Text);
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1), (2), (3)");
        WorkBatch<string> part = await NextAsync(source);
        WorkBatch<string> rest = await NextAsync(source);
        NpgsqlLogSequenceNumber before = await ConfirmedAsync();
        Assert.Throws<ArgumentException>(() => source.AcknowledgeAsync([rest], CancellationToken.None).GetAwaiter().GetResult());

        // A store that fails moves nothing, and a part of a transaction does not move the slot.
        store.Fails = true;
        await Assert.ThrowsAsync<IOException>(async () => await source.AcknowledgeAsync([part, rest], CancellationToken.None));
        store.Fails = false;
        await source.AcknowledgeAsync([part], CancellationToken.None);
        Assert.EndsWith(":2", store.Positions[^1], StringComparison.Ordinal);
        Assert.Equal(before, await ConfirmedAsync());
        store.Saving = async () => store.Seen = await ConfirmedAsync();
        await source.AcknowledgeAsync([rest], CancellationToken.None);
        Assert.Equal(before, store.Seen);
        Assert.Equal(rest.Position, store.Positions[^1]);
        await Guard.UntilAsync(async () => await ConfirmedAsync() == NpgsqlLogSequenceNumber.Parse(rest.Position), "The slot's move");

        // Again it changes nothing.
        int saves = store.Positions.Count;
        await source.AcknowledgeAsync([part, rest], CancellationToken.None);
        Assert.Equal(saves, store.Positions.Count);
    }

    [Fact(Timeout = Limit)]
    public async Task Open_AfterSomeOfATransactionWasAcknowledged_ContinuesBehindIt()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 3 });
        await ExecuteAsync($"INSERT INTO {Table} SELECT n, 'a' FROM generate_series(0, 9) n");
        await ExecuteAsync($"INSERT INTO {Table} VALUES (10, 'a')");
        List<WorkId> seen = [];
        for (int round = 0; round < 3; round++)
        {
            await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
            WorkBatch<PostgresChange> batch = await NextAsync(source);
            await NextAsync(source);
            seen.AddRange(batch.Items.Select(static i => i.Id));
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        Assert.Equal(Enumerable.Range(0, 9), seen.Select(static id => id.Index));
        Assert.Single(seen.Select(static id => id.Origin).Distinct());
        await using IWorkSource<PostgresChange> last = await stream.OpenSourceAsync();
        List<PostgresChange> changes = await TakeAsync(last, 2);
        Assert.Equal([9, 10], changes.Select(static c => c.New!.Get<int>("id")));
        Assert.Equal([(9L, true), (0L, true)], changes.Select(static c => (c.Index, c.IsLast)));
    }

    [Fact(Timeout = Limit)]
    public async Task Return_Batches_AreDeliveredAgainWithWhatFollows()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 2 });
        await using IWorkSource<string> source = await stream.OpenSourceAsync(Text);
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1), (2), (3), (4), (5)");
        WorkBatch<string> first = await NextAsync(source);
        WorkBatch<string> second = await NextAsync(source);
        WorkBatch<string> third = await NextAsync(source);
        await source.ReturnAsync([third, second], CancellationToken.None);
        await source.AcknowledgeAsync([first], CancellationToken.None);

        // Those that were given back are not acknowledged any more.
        await source.AcknowledgeAsync([second, third], CancellationToken.None);
        Assert.Equal(["+3=", "+4=", "+5="], await TakeAsync(source, 3));
    }

    [Fact(Timeout = Limit)]
    public async Task Heartbeat_OnlyOtherTablesChange_MovesTheSlot()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { HeartbeatInterval = TimeSpan.FromMilliseconds(50) });
        await using IWorkSource<string> source = await stream.OpenSourceAsync(Text);
        await ExecuteAsync($"CREATE TABLE {Name("other")} AS SELECT n FROM generate_series(1, 1000) n");
        NpgsqlLogSequenceNumber written = await ScalarAsync<NpgsqlLogSequenceNumber>("SELECT pg_current_wal_flush_lsn()");
        WorkBatch<string> batch;
        do
        {
            batch = await NextAsync(source);
            Assert.Empty(batch.Items);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }
        while (NpgsqlLogSequenceNumber.Parse(batch.Position) < written);

        await Guard.UntilAsync(async () => await ConfirmedAsync() >= written, "The slot's move");
        Assert.Equal(batch.Position, await Checkpoints.LoadAsync(Slot));
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a')");
        do
        {
            batch = await NextAsync(source);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }
        while (batch.Items.Count == 0);
        Assert.Equal("+1=a", batch.Items.Single().Value);
    }

    [Fact(Timeout = Limit)]
    public async Task Read_IsCancelled_LosesNothing()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await using IWorkSource<string> source = await stream.OpenSourceAsync(Text);
        for (int i = 0; i < 20; i++)
        {
            using var cancel = new CancellationTokenSource();
            Task<WorkBatch<string>?> read = source.ReadAsync(cancel.Token).AsTask();
            await ExecuteAsync($"INSERT INTO {Table} VALUES ({i}, 'a')");
            await cancel.CancelAsync();
            try
            {
                WorkBatch<string> batch = (await read.WithinAsync("the read"))!;
                Assert.Equal([$"+{i}=a"], batch.Items.Select(static item => item.Value));
            }
            catch (OperationCanceledException)
            {
                Assert.Equal([$"+{i}=a"], await TakeAsync(source, 1, acknowledge: false));
            }
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_RightAfterOpening_Ends()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        for (int i = 0; i < 30; i++)
        {
            IWorkSource<string> source = await stream.OpenSourceAsync(Text);
            await source.DisposeAsync().WithinAsync("the end of the source");
        }
    }

    private sealed class WatchedStore : ICheckpointStore
    {
        private readonly ConcurrentDictionary<string, string> _positions = new();

        public bool Fails { get; set; }

        public Func<Task> Saving { get; set; } = static () => Task.CompletedTask;

        public NpgsqlLogSequenceNumber Seen { get; set; }

        public List<string> Positions { get; } = [];

        public ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default) => new(_positions.GetValueOrDefault(name));

        public async ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default)
        {
            if (Fails)
            {
                throw new IOException("The store is full.");
            }

            await Saving();
            _positions[name] = position;
            Positions.Add(position);
        }
    }
}
