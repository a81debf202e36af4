using System.Buffers;
using System.Buffers.Binary;
using Npgsql.Replication;
using Npgsql.Replication.PgOutput;
using Npgsql.Replication.PgOutput.Messages;

namespace Weir.Tables.Servers.Changes;

/// <summary>Reads the same log to its last row, with each value of each row decoded: by a loop over Npgsql, and by the source of changes.</summary>
internal static class StreamArms
{
    public const string Publication = "figures";

    public static async Task<IReadOnlyList<Pass>> BareAsync(FigureDatabase database, string slot, string work, long rows, CancellationToken stop)
    {
        await using LogicalReplicationConnection connection = new(database.Connection);
        await connection.Open(stop);
        long started = Stopwatch.GetTimestamp();
        long count = 0;
        long sum = 0;
        TimeSpan time = default;
        await foreach (PgOutputReplicationMessage message in connection.StartReplication(
            new PgOutputReplicationSlot(slot), new PgOutputReplicationOptions(Publication, PgOutputProtocolVersion.V1, binary: true), stop))
        {
            if (message is InsertMessage insert)
            {
                int column = 0;
                await foreach (ReplicationValue value in insert.NewRow)
                {
                    sum += column++ switch
                    {
                        0 => await value.Get<int>(stop),
                        1 => (await value.Get<string>(stop)).Length,
                        _ => await value.Get<long>(stop),
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

    /// <summary>The whole way as users meet it: a host with its default options, and a position that is kept in the database.</summary>
    public static async Task<IReadOnlyList<Pass>> HostAsync(FigureDatabase database, string slot, string work, long rows, CancellationToken stop)
    {
        PostgresCheckpointStore checkpoints = new(database.Source);
        await checkpoints.SetupAsync(stop);
        await using PostgresChangeSource changes = new(database.Connection, slot, Publication, checkpoints);
        await changes.SetupAsync(stop);
        long sum = 0;
        IWorkSource<long> source = await changes.OpenSourceAsync(
            static change => change.New!.Get<int>(0) + change.New.Get<string>(1)!.Length + change.New.Get<long>(2), stop);
        WorkHostOptions<long> options = new() { DeadLetters = new MemoryDeadLetters(), Serializer = new NumberSerializer() };
        TimeSpan time = await HostPass.RunAsync(source, options, rows, value => Interlocked.Add(ref sum, value), stop);
        return [new Pass(work, rows, time, sum)];
    }

    public static async Task<IReadOnlyList<Pass>> OwnAsync(FigureDatabase database, string slot, string work, long rows, CancellationToken stop)
    {
        await using PostgresChangeSource changes = new(database.Connection, slot, Publication, new MemoryCheckpointStore());
        await changes.SetupAsync(stop);
        long started = Stopwatch.GetTimestamp();
        long count = 0;
        long sum = 0;
        await using IWorkSource<PostgresChange> source = await changes.OpenSourceAsync(stop);
        while (count < rows)
        {
            WorkBatch<PostgresChange> batch = (await source.ReadAsync(stop))!;
            foreach (WorkItem<PostgresChange> item in batch.Items)
            {
                PostgresRow row = item.Value.New!;
                sum += row.Get<int>(0) + row.Get<string>(1)!.Length + row.Get<long>(2);
                count++;
            }

            await source.AcknowledgeAsync([batch], stop);
        }

        return [new Pass(work, count, Stopwatch.GetElapsedTime(started), sum)];
    }

    private sealed class NumberSerializer : IWorkSerializer<long>
    {
        public void Write(long value, IBufferWriter<byte> output)
        {
            BinaryPrimitives.WriteInt64LittleEndian(output.GetSpan(sizeof(long)), value);
            output.Advance(sizeof(long));
        }

        public long Read(ReadOnlySpan<byte> bytes) => BinaryPrimitives.ReadInt64LittleEndian(bytes);
    }
}
