using Npgsql.Replication;
using Npgsql.Replication.PgOutput;
using Npgsql.Replication.PgOutput.Messages;
using Weir.Delivery;
using Weir.PostgreSql;
using Weir.Tables.Servers.Turns;

namespace Weir.Tables.Servers.Changes;

/// <summary>Reads the same log to its last row, with each value of each row decoded: by a loop over Npgsql, and by the source of changes.</summary>
internal static class StreamArms
{
    public const string Publication = "figures";

    public static async Task<IReadOnlyList<Pass>> BareAsync(FigureDatabase database, string slot, string work, long rows, CancellationToken stop)
    {
        LogicalReplicationConnection connection = new(database.Connection);
        await using (connection.ConfigureAwait(false))
        {
            await connection.Open(stop).ConfigureAwait(false);
            long started = Stopwatch.GetTimestamp();
            long count = 0;
            long sum = 0;
            TimeSpan time = default;
            await foreach (PgOutputReplicationMessage message in connection.StartReplication(
                new PgOutputReplicationSlot(slot), new PgOutputReplicationOptions(Publication, PgOutputProtocolVersion.V1, binary: true), stop)
                .ConfigureAwait(false))
            {
                if (message is InsertMessage insert)
                {
                    int column = 0;
                    await foreach (ReplicationValue value in insert.NewRow.ConfigureAwait(false))
                    {
                        sum += column++ switch
                        {
                            0 => await value.Get<int>(stop).ConfigureAwait(false),
                            1 => (await value.Get<string>(stop).ConfigureAwait(false)).Length,
                            _ => await value.Get<long>(stop).ConfigureAwait(false),
                        };
                    }

                    count++;
                }
                else if (message is CommitMessage commit)
                {
                    connection.SetReplicationStatus(commit.TransactionEndLsn);
                    if (count >= rows)
                    {
                        time = Stopwatch.GetElapsedTime(started);
                        break;
                    }
                }
            }

            return [new Pass(work, count, time, sum)];
        }
    }

    public static async Task<IReadOnlyList<Pass>> OwnAsync(FigureDatabase database, string slot, string work, long rows, CancellationToken stop)
    {
        PostgresChangeSource changes = new(database.Connection, slot, Publication, new MemoryCheckpointStore());
        await using (changes.ConfigureAwait(false))
        {
            await changes.SetupAsync(stop).ConfigureAwait(false);
            long started = Stopwatch.GetTimestamp();
            long count = 0;
            long sum = 0;
            IWorkSource<PostgresChange> source = await changes.OpenSourceAsync(stop).ConfigureAwait(false);
            await using (source.ConfigureAwait(false))
            {
                while (count < rows)
                {
                    WorkBatch<PostgresChange> batch = (await source.ReadAsync(stop).ConfigureAwait(false))!;
                    foreach (WorkItem<PostgresChange> item in batch.Items)
                    {
                        PostgresRow row = item.Value.New!;
                        sum += row.Get<int>(0) + row.Get<string>(1)!.Length + row.Get<long>(2);
                        count++;
                    }

                    await source.AcknowledgeAsync([batch], stop).ConfigureAwait(false);
                }

                return [new Pass(work, count, Stopwatch.GetElapsedTime(started), sum)];
            }
        }
    }
}
