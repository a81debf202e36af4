using Npgsql;
using NpgsqlTypes;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>What the server says of a replication slot, with and without a reader.</summary>
public sealed class SlotStatisticsTests(PostgresServer server) : ChangeTest(server)
{
    private readonly ManualTimeProvider _clock = new();

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_ReaderGoesAndComes_LagAndLogAreThoseOfTheSlot()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { HeartbeatInterval = TimeSpan.FromMilliseconds(50) });
        var slot = new PostgresReplicationSlot(Source, Slot, _clock);
        await ExecuteAsync($"INSERT INTO {Table} SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i");
        WorkStatistics behind = await slot.GetStatisticsAsync();
        Assert.Equal((false, WorkLogState.Reserved, null), (behind.IsActive, behind.LogState, behind.Lag));
        Assert.InRange(behind.LagBytes!.Value, 1_000_000, long.MaxValue);
        Assert.InRange(behind.RetainedBytes!.Value, behind.LagBytes.Value, long.MaxValue);

        _clock.Advance(TimeSpan.FromMinutes(3));
        Assert.Equal(TimeSpan.FromMinutes(3), (await slot.GetStatisticsAsync()).Lag);

        // A second object has not seen it.
        Assert.Null((await stream.GetStatisticsAsync()).Lag);
        await using (IWorkSource<PostgresChange> source = await stream.OpenSourceAsync())
        {
            await TakeAsync(source, 1000);
            Assert.True((await slot.GetStatisticsAsync()).IsActive);

            // The end of the log moves with all databases, and the position with each heartbeat. Once it has passed the end of one reading, it is behind
            // since the next one at most.
            await slot.GetStatisticsAsync();
            NpgsqlLogSequenceNumber end = await ScalarAsync<NpgsqlLogSequenceNumber>("SELECT pg_current_wal_flush_lsn()");
            NpgsqlLogSequenceNumber done;
            do
            {
                WorkBatch<PostgresChange> batch = await NextAsync(source);
                await source.AcknowledgeAsync([batch], CancellationToken.None);
                done = NpgsqlLogSequenceNumber.Parse(batch.Position);
            }
            while (done < end);

            await Guard.UntilAsync(async () => await ConfirmedAsync() >= end, "The slot's move");
            _clock.Advance(TimeSpan.FromMinutes(1));
            Assert.Equal(TimeSpan.Zero, (await slot.GetStatisticsAsync()).Lag);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_NoSlot_SaysSo()
    {
        var slot = new PostgresReplicationSlot(Source, "weir_nowhere");
        WorkSetupException e = await Assert.ThrowsAsync<WorkSetupException>(async () => await slot.GetStatisticsAsync());
        Assert.StartsWith("The server has no replication slot 'weir_nowhere': it was dropped,", e.Message, StringComparison.Ordinal);
        ArgumentException wrong = Assert.Throws<ArgumentException>(() => new PostgresReplicationSlot(Source, "No"));
        Assert.StartsWith("slot must have", wrong.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task GetStatistics_UserWithoutRights_MayAsk()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"CREATE ROLE {Slot} LOGIN PASSWORD 'weir'");
        try
        {
            var few = new NpgsqlConnectionStringBuilder(ConnectionString) { Username = Slot, Password = "weir" };
            await using NpgsqlDataSource source = NpgsqlDataSource.Create(few);
            WorkStatistics now = await new PostgresReplicationSlot(source, Slot).GetStatisticsAsync();
            Assert.Equal((false, WorkLogState.Reserved), (now.IsActive, now.LogState));
        }
        finally
        {
            await ExecuteAsync($"DROP ROLE {Slot}");
        }
    }
}
