namespace Weir.PostgreSql;

/// <summary>Turns the messages of pgoutput into changes, and these into batches.</summary>
/// <param name="source">The stream.</param>
/// <param name="relations">The tables.</param>
/// <param name="builder">Where changes go.</param>
/// <param name="start">Where the stream begins: changes before it are passed over.</param>
internal sealed class ChangeDecoder<T>(PostgresChangeSource source, RelationCache relations, BatchBuilder<T> builder, ChangePosition start)
{
    private readonly ChangeLanes _lanes = new(source.Options.Order);
    private ChangeTransaction? _transaction;
    private ChangePosition _finished = new(start.Lsn);
    private int _next;
    private int _skip;
    private int _truncated;

    /// <summary>Whether the server is in the middle of a transaction.</summary>
    public bool IsInTransaction => _transaction is not null;

    /// <summary>Whether a transaction of which a part is done has not come yet.</summary>
    public bool IsBeforePart { get; private set; } = start.PartCount > 0;

    /// <summary>
    /// Reads a message. Call it until it returns <see langword="null"/>: each time before, a batch is full, and the message is not finished.
    /// </summary>
    public ChangeBatch<T>? Read(byte[] message)
    {
        switch (message[0])
        {
            case (byte)'B':
                Begin(message);
                return null;
            case (byte)'I' or (byte)'U' or (byte)'D':
                return Row(message);
            case (byte)'T':
                return Truncate(message);
            case (byte)'C':
                var reader = new ByteReader(message.AsSpan(10));
                Commit(reader.UInt64());
                return null;
            default:
                // Names of types, origins.
                return null;
        }
    }

    /// <summary>Counts a snapshot as a transaction whose changes are its rows.</summary>
    public ChangeBatch<T>? ReadSnapshotRow(ChangeTransaction snapshot, PostgresRelation relation, byte[] row, int index)
    {
        if (builder.MustBeTaken(nextIsAlone: false))
        {
            return builder.Take();
        }

        var change = new PostgresChange(
            snapshot, index, PostgresChangeKind.Snapshot, relation, oldRow: null, new PostgresRow(relation, row, start: 0, isKeyOnly: false));
        builder.Add(change, _lanes.NameOf(change), row.Length, isAlone: false, ChangePosition.Snapshot);
        return null;
    }

    private void Begin(byte[] message)
    {
        var reader = new ByteReader(message.AsSpan(1));
        ulong commitLsn = reader.UInt64();
        DateTimeOffset time = reader.Time();
        _transaction = ChangeTransaction.Of(source.Slot, reader.UInt32(), commitLsn, time);
        _next = 0;
        _skip = commitLsn == start.PartLsn ? start.PartCount : 0;
        IsBeforePart = IsBeforePart && commitLsn < start.PartLsn;
    }

    private void Commit(ulong end)
    {
        builder.EndTransaction();
        _transaction = null;
        _finished = new ChangePosition(end);
        builder.Position = IsBeforePart ? _finished with { PartLsn = start.PartLsn, PartCount = start.PartCount } : _finished;
    }

    private ChangeBatch<T>? Row(byte[] message)
    {
        if (_next < _skip)
        {
            _next++;
            return null;
        }

        var reader = new ByteReader(message);
        byte letter = reader.Byte();
        PostgresRelation relation = relations[reader.UInt32()];
        PostgresRow? before = null;
        PostgresRow? after = null;
        byte part = reader.Byte();
        if (part is (byte)'K' or (byte)'O')
        {
            before = new PostgresRow(relation, message, reader.Tuple(), isKeyOnly: part == (byte)'K');
            part = letter == (byte)'U' ? reader.Byte() : (byte)0;
        }

        if (part == (byte)'N')
        {
            after = new PostgresRow(relation, message, reader.Tuple(), isKeyOnly: false);
        }

        PostgresChangeKind kind = letter switch
        {
            (byte)'I' => PostgresChangeKind.Insert,
            (byte)'U' => PostgresChangeKind.Update,
            _ => PostgresChangeKind.Delete,
        };
        if (!TryAdd(new PostgresChange(_transaction!, _next, kind, relation, before, after), message.Length))
        {
            return builder.Take();
        }

        _next++;
        return null;
    }

    private ChangeBatch<T>? Truncate(byte[] message)
    {
        var reader = new ByteReader(message.AsSpan(1));
        int count = reader.Int32();
        reader.Byte();
        for (int i = 0; i < count; i++)
        {
            PostgresRelation relation = relations[reader.UInt32()];
            if (i < _truncated)
            {
                continue;
            }

            if (_next >= _skip && !TryAdd(new PostgresChange(_transaction!, _next, PostgresChangeKind.Truncate, relation, null, null), message.Length))
            {
                return builder.Take();
            }

            _truncated++;
            _next++;
        }

        _truncated = 0;
        return null;
    }

    private bool TryAdd(PostgresChange change, int bytes)
    {
        bool isAlone = _lanes.IsAlone(change, relations.IsNewVersion(change.Relation.Oid));
        if (builder.MustBeTaken(isAlone))
        {
            return false;
        }

        relations.KnowVersion(change.Relation.Oid);
        builder.Add(
            change, _lanes.NameOf(change), bytes, isAlone, _finished with { PartLsn = change.CommitLsnValue, PartCount = change.Index + 1 });
        return true;
    }
}
