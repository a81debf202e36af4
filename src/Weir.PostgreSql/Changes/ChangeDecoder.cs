using System.Text;
using Npgsql.Replication.PgOutput;
using Npgsql.Replication.PgOutput.Messages;

namespace Weir.PostgreSql;

/// <summary>Turns the messages of pgoutput into changes, and these into batches.</summary>
/// <param name="source">The stream.</param>
/// <param name="relations">The tables.</param>
/// <param name="builder">Where changes go.</param>
/// <param name="send">Takes batches that are full.</param>
/// <param name="start">Where the stream begins. Changes before it are skipped.</param>
internal sealed class ChangeDecoder<T>(
    PostgresChangeSource source,
    RelationCache relations,
    BatchBuilder<T> builder,
    Func<ChangeBatch<T>, CancellationToken, ValueTask> send,
    ChangePosition start)
{
    private readonly ChangeKeys _keys = new(source.Options.Order);
    private ChangeTransaction? _transaction;
    private ChangePosition _finished = new(start.Lsn);
    private long _next;
    private long _skip;

    /// <summary>Whether the server is in the middle of a transaction.</summary>
    public bool IsInTransaction => _transaction is not null;

    /// <summary>Whether a transaction that was partly processed before has not arrived yet.</summary>
    public bool IsBeforePart { get; private set; } = start.PartCount > 0;

    /// <summary>Reads a message. It and its rows are valid only until the next one is read.</summary>
    public ValueTask ReadAsync(PgOutputReplicationMessage message, CancellationToken cancellationToken) => message switch
    {
        InsertMessage m => ReadAsync(PostgresChangeKind.Insert, m.Relation, null, false, m.NewRow, cancellationToken),
        FullUpdateMessage m => ReadAsync(PostgresChangeKind.Update, m.Relation, m.OldRow, false, m.NewRow, cancellationToken),
        IndexUpdateMessage m => ReadAsync(PostgresChangeKind.Update, m.Relation, m.Key, true, m.NewRow, cancellationToken),
        UpdateMessage m => ReadAsync(PostgresChangeKind.Update, m.Relation, null, false, m.NewRow, cancellationToken),
        FullDeleteMessage m => ReadAsync(PostgresChangeKind.Delete, m.Relation, m.OldRow, false, null, cancellationToken),
        KeyDeleteMessage m => ReadAsync(PostgresChangeKind.Delete, m.Relation, m.Key, true, null, cancellationToken),
        TruncateMessage m => TruncateAsync(m, cancellationToken),
        RelationMessage m => relations.DefineAsync(m, cancellationToken),
        BeginMessage m => Begin(m),
        CommitMessage m => Commit((ulong)m.TransactionEndLsn),

        // Names of types and origins are of no use here.
        _ => default,
    };

    /// <summary>Treats a snapshot as a transaction whose changes are its rows.</summary>
    public async ValueTask ReadSnapshotRowAsync(
        ChangeTransaction snapshot, PostgresRelation relation, string?[] row, long index, CancellationToken cancellationToken)
    {
        if (builder.MustBeTaken(nextIsAlone: false))
        {
            await send(builder.Take(), cancellationToken).ConfigureAwait(false);
        }

        var change = new PostgresChange(snapshot, index, PostgresChangeKind.Snapshot, relation, null, new PostgresRow(relation, row, isKeyOnly: false));
        builder.Add(change, _keys.KeyFor(change), isAlone: false, ChangePosition.Snapshot);
    }

    private static async ValueTask<PostgresRow> RowAsync(
        PostgresRelation relation, ReplicationTuple row, bool isKeyOnly, CancellationToken cancellationToken)
    {
        string?[] texts = new string?[row.NumColumns];
        int next = 0;
        await foreach (ReplicationValue value in row.WithCancellation(cancellationToken).ConfigureAwait(false))
        {
            try
            {
                texts[next] = value.Kind switch
                {
                    TupleDataKind.Null => null,
                    TupleDataKind.UnchangedToastedValue => PostgresRow.Unchanged,
                    _ => await value.Get<string>(cancellationToken).ConfigureAwait(false),
                };
            }
            catch (DecoderFallbackException)
            {
                texts[next] = PostgresRow.Unreadable;
            }

            next++;
        }

        return new PostgresRow(relation, texts, isKeyOnly);
    }

    private ValueTask Begin(BeginMessage message)
    {
        ulong commitLsn = (ulong)message.TransactionFinalLsn;
        _transaction = new ChangeTransaction(message.TransactionXid, commitLsn, new DateTimeOffset(message.TransactionCommitTimestamp), source.Slot);
        _next = 0;
        _skip = commitLsn == start.PartLsn ? start.PartCount : 0;
        IsBeforePart = IsBeforePart && commitLsn < start.PartLsn;
        return default;
    }

    private ValueTask Commit(ulong end)
    {
        builder.EndTransaction();
        _transaction = null;
        _finished = new ChangePosition(end);
        builder.Position = IsBeforePart ? _finished with { PartLsn = start.PartLsn, PartCount = start.PartCount } : _finished;
        return default;
    }

    private async ValueTask ReadAsync(
        PostgresChangeKind kind,
        RelationMessage table,
        ReplicationTuple? before,
        bool isKeyOnly,
        ReplicationTuple? after,
        CancellationToken cancellationToken)
    {
        // Weir's own tables count, so that a position means the same whoever knows which they are.
        if (_next < _skip || relations[table.RelationId] is not { IsOwn: false } relation)
        {
            _next++;
            return;
        }

        // In the order in which the server sends them.
        PostgresRow? old = before is null ? null : await RowAsync(relation, before, isKeyOnly, cancellationToken).ConfigureAwait(false);
        PostgresRow? current = after is null ? null : await RowAsync(relation, after, false, cancellationToken).ConfigureAwait(false);
        var change = new PostgresChange(_transaction!, _next, kind, relation, old, current);
        bool isAlone = _keys.IsAlone(change, relations.IsNewVersion(relation.Oid));
        if (builder.MustBeTaken(isAlone))
        {
            await send(builder.Take(), cancellationToken).ConfigureAwait(false);
        }

        relations.KnowVersion(relation.Oid);
        builder.Add(change, _keys.KeyFor(change), isAlone, _finished with { PartLsn = change.CommitLsnValue, PartCount = change.Index + 1 });
        _next++;
    }

    private async ValueTask TruncateAsync(TruncateMessage message, CancellationToken cancellationToken)
    {
        foreach (RelationMessage table in message.Relations)
        {
            await ReadAsync(PostgresChangeKind.Truncate, table, null, false, null, cancellationToken).ConfigureAwait(false);
        }
    }
}
