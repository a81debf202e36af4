using System.Security.Cryptography;
using System.Text;
using Npgsql.Replication.PgOutput;
using Npgsql.Replication.PgOutput.Messages;

namespace Weir.PostgreSql;

/// <summary>Turns the messages of pgoutput into changes, and these into batches.</summary>
/// <param name="stream">The stream.</param>
/// <param name="relations">The tables.</param>
/// <param name="builder">Where changes go.</param>
/// <param name="send">Takes batches that are full.</param>
/// <param name="start">Where the stream begins. Changes before it are skipped.</param>
internal sealed class ChangeDecoder<T>(
    ChangeStream stream,
    RelationCache relations,
    BatchBuilder<T> builder,
    Func<ChangeBatch<T>, CancellationToken, ValueTask> send,
    ChangePosition start)
{
    private readonly ChangeKeys _keys = new(stream.Options.Order);
    private ChangeTransaction? _transaction;
    private ChangePosition _finished = new(start.Lsn);
    private long _next;
    private long _skip;

    /// <summary>Whether the last message was inside a transaction.</summary>
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

        // Nobody needs the names of types and origins.
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
        _transaction = new ChangeTransaction(message.TransactionXid, commitLsn, new DateTimeOffset(message.TransactionCommitTimestamp), stream.Slot);
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
        // Changes of Weir's own tables are counted, too: so a position does not depend on which tables a version knows as its own.
        if (_next < _skip || relations[table.RelationId] is not { IsOwn: false } relation)
        {
            _next++;
            return;
        }

        // The old row is sent before the new one.
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

/// <summary>
/// Collects changes. A batch is taken only when the next change has arrived, or when the transaction has ended, so it is known whether its last
/// change is the last of its transaction.
/// </summary>
/// <param name="stream">The stream.</param>
/// <param name="map">Makes the value of an item from a change.</param>
/// <param name="start">Where the stream is.</param>
internal sealed class BatchBuilder<T>(ChangeStream stream, Func<PostgresChange, T> map, ChangePosition start)
{
    private readonly int _maxChanges = stream.Options.MaxChangesPerBatch;
    private readonly int _maxBytes = stream.Options.MaxBytesPerBatch;
    private readonly List<(PostgresChange Change, string? Key)> _changes = [];
    private long _bytes;
    private bool _isAlone;
    private bool _waits;

    /// <summary>Where the stream is when the changes that were collected are done.</summary>
    public ChangePosition Position { get; set; } = start;

    public bool HasChanges => _changes.Count > 0;

    /// <summary>Whether the changes that were collected must be taken before the next one is added.</summary>
    public bool MustBeTaken(bool nextIsAlone) =>
        _changes.Count > 0 && (nextIsAlone || _isAlone || _changes.Count >= _maxChanges || _bytes >= _maxBytes);

    public void Add(PostgresChange change, string? key, bool isAlone, ChangePosition position)
    {
        _changes.Add((change, key));
        _bytes += (change.Old?.Size ?? 0) + (change.New?.Size ?? 0);
        _isAlone |= isAlone;
        _waits |= isAlone;
        Position = position;
    }

    /// <summary>Makes the next batch wait until all before it are acknowledged.</summary>
    public void WaitForAll() => _waits = true;

    /// <summary>Marks the last change that was added as the last of its transaction.</summary>
    public void EndTransaction()
    {
        if (_changes.Count > 0)
        {
            _changes[^1].Change.IsLast = true;
        }
    }

    public ChangeBatch<T> Take()
    {
        var items = new List<WorkItem<T>>(_changes.Count);
        List<DeadLetter> failed = [];
        foreach ((PostgresChange change, string? key) in _changes)
        {
            if ((change.New?.UnreadableColumn ?? change.Old?.UnreadableColumn) is { } column)
            {
                failed.Add(Failed(change, key, $"the server sends no valid UTF-8 for column '{column}'.", null));
                continue;
            }

            try
            {
                items.Add(new WorkItem<T>(change.Id, map(change), key));
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                failed.Add(Failed(change, key, $"its mapping failed: {e.Message}", e));
            }
        }

        var batch = new ChangeBatch<T>(items, Position, _waits, failed);
        _changes.Clear();
        _bytes = 0;

        // The batch after one that is processed alone waits for it.
        _waits = _isAlone;
        _isAlone = false;
        return batch;
    }

    private DeadLetter Failed(PostgresChange change, string? key, string reason, Exception? cause)
    {
        string message = $"Change {change.Id} ({change.Kind} of {change.Relation}) cannot be read: {reason}";
        var letter = new DeadLetter
        {
            Id = change.Id.ToString(),
            Source = stream.Slot,
            Reason = cause is null ? DeadLetterReason.Undecodable : DeadLetterReason.Rejected,
            Error = cause is null ? message : $"{message}\n{cause}",
            Time = stream.Options.TimeProvider.GetUtcNow(),
            Key = key,
            Payload = ChangeJson.Bytes(change),
        };
        if (stream.Options.OnError == PostgresChangeErrorMode.Stop)
        {
            stream.Options.Tell(letter);
            throw new WorkSetupException(
                $"{message} Nothing is lost: mend its cause, or set {nameof(PostgresChangeSourceOptions.OnError)} to go on behind it.", cause!);
        }

        return letter;
    }
}

/// <summary>Changes that are delivered and acknowledged together: several transactions, a part of one, or only a position.</summary>
/// <param name="items">The changes.</param>
/// <param name="end">Where the stream is when they are done.</param>
/// <param name="waits">Whether everything before has to be acknowledged first.</param>
/// <param name="failed">Changes that would be among them, and could not be read.</param>
internal sealed class ChangeBatch<T>(IReadOnlyList<WorkItem<T>> items, ChangePosition end, bool waits, IReadOnlyList<DeadLetter> failed)
    : WorkBatch<T>(items, end.ToString())
{
    private volatile bool _isAcknowledged;

    public ChangePosition End => end;

    public bool Waits => waits;

    public IReadOnlyList<DeadLetter> Failed => failed;

    /// <summary>Where the stream was before; known when it is delivered.</summary>
    public ChangePosition Start { get; set; }

    /// <summary>Its number among those that the source has delivered, from 1.</summary>
    public long Number { get; set; }

    /// <summary>The source that delivered it and waits for its acknowledgement; null before and after.</summary>
    public object? Owner { get; set; }

    public bool IsAcknowledged
    {
        get => _isAcknowledged;
        set => _isAcknowledged = value;
    }
}

/// <summary>Which changes are processed one after another, and which alone.</summary>
internal sealed class ChangeKeys(PostgresChangeOrder order)
{
    private const int MaxText = 200;

    /// <summary>Whether a change begins only when everything before it is done, and everything after waits for it.</summary>
    public bool IsAlone(PostgresChange change, bool isFirstOfVersion) => order switch
    {
        PostgresChangeOrder.Key => isFirstOfVersion || change.Kind == PostgresChangeKind.Truncate || HasOtherKey(change),
        PostgresChangeOrder.Relation => isFirstOfVersion,
        _ => false,
    };

    /// <summary>The key of the item of a change. Changes with the same key are processed in order; null for none.</summary>
    public string? KeyFor(PostgresChange change) => order switch
    {
        PostgresChangeOrder.Key => KeyOf(change),
        PostgresChangeOrder.Relation => change.Relation.LaneName,
        PostgresChangeOrder.Transaction => change.Id.Origin,
        PostgresChangeOrder.Global => "",
        _ => null,
    };

    private static bool HasOtherKey(PostgresChange change)
    {
        if (change is not { Kind: PostgresChangeKind.Update, Old: { } before, New: { } after })
        {
            return false;
        }

        foreach (int ordinal in change.Relation.LaneOrdinals)
        {
            if (after.GetState(ordinal) != PostgresValueState.Unchanged && before.SentText(ordinal) != after.SentText(ordinal))
            {
                return true;
            }
        }

        return false;
    }

    private static string KeyOf(PostgresChange change)
    {
        PostgresRelation relation = change.Relation;
        if (relation.LaneOrdinals.Count == 0 || change.Kind == PostgresChangeKind.Truncate)
        {
            return relation.LaneName;
        }

        if (relation.LaneOrdinals.Count == 1)
        {
            return $"{relation.LaneName}:{TextOf(change, relation.LaneOrdinals[0])}";
        }

        var text = new StringBuilder(relation.LaneName);
        char separator = ':';
        foreach (int ordinal in relation.LaneOrdinals)
        {
            text.Append(separator).Append(TextOf(change, ordinal));
            separator = ',';
        }

        return text.ToString();
    }

    // Two keys of rows may have the same text. Then they share a key, which only costs some concurrency.
    private static string? TextOf(PostgresChange change, int ordinal)
    {
        PostgresRow row = change.New is { } after && after.GetState(ordinal) != PostgresValueState.Unchanged ? after : change.Old ?? change.New!;
        string? text = row.SentText(ordinal);
        return text?.Length > MaxText ? Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(text))) : text;
    }
}
