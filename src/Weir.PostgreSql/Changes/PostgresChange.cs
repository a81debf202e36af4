using System.Text.Json;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>A change of a row or table, which has been committed. Immutable and thread-safe.</summary>
/// <remarks>
/// Changes are delivered in the order in which their transactions were committed, and inside a transaction in the order in which they were made. No change of
/// one transaction lies between those of another.
/// </remarks>
public sealed class PostgresChange
{
    private readonly ChangeTransaction _transaction;

    internal PostgresChange(
        ChangeTransaction transaction, long index, PostgresChangeKind kind, PostgresRelation relation, PostgresRow? oldRow, PostgresRow? newRow)
    {
        _transaction = transaction;
        Index = index;
        Kind = kind;
        Relation = relation;
        Old = oldRow;
        New = newRow;
    }

    /// <summary>What has happened.</summary>
    public PostgresChangeKind Kind { get; }

    /// <summary>The table, as it was then.</summary>
    public PostgresRelation Relation { get; }

    /// <summary>
    /// The row before the change, for deletes and some updates; otherwise, <see langword="null"/>. With the table's replica identity it has all columns
    /// (full), or those of the key (all others): the state of the rest is <see cref="PostgresValueState.NotSent"/>, and an update has it only if it has
    /// changed the key.
    /// </summary>
    public PostgresRow? Old { get; }

    /// <summary>The row after the change, for inserts, updates and rows of the snapshot; otherwise, <see langword="null"/>.</summary>
    public PostgresRow? New { get; }

    /// <summary>The number of the transaction, which is used again after four billion others; 0 for rows of the snapshot.</summary>
    public uint TransactionId => _transaction.Id;

    /// <summary>Where the transaction was committed in the write-ahead log; for rows of the snapshot, where the slot was created.</summary>
    public NpgsqlLogSequenceNumber CommitLsn => new(_transaction.CommitLsn);

    /// <summary>When the transaction was committed, by the clock of the server; for rows of the snapshot, when it was read.</summary>
    public DateTimeOffset CommitTime => _transaction.CommitTime;

    /// <summary>The place of the change in its transaction, from 0; for a row of the snapshot, its place in the table as it was read.</summary>
    public long Index { get; }

    /// <summary>Whether this is the last change of its transaction, or the last row of a table in the snapshot.</summary>
    public bool IsLast { get; internal set; }

    /// <summary>
    /// The identity of the change in its stream, the same at each delivery: the slot, <see cref="CommitLsn"/> and <see cref="Index"/>. For rows of a snapshot
    /// it is the same only as long as the snapshot is not taken again. Its place has 31 bits: after 2^31 changes it begins
    /// anew, with a plus and a number behind the position.
    /// </summary>
    public WorkId Id => _transaction.IdOf(Index);

    /// <summary>Writes the change as a JSON object, as a line of <c>weir-work cdc</c>: docs/reference/cdc.md describes its members.</summary>
    /// <param name="writer">Where to. It must be where a value can stand.</param>
    /// <exception cref="ArgumentNullException"><paramref name="writer"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">A value is longer than a <c>Utf8JsonWriter</c> takes: some 160 million characters.</exception>
    public void WriteJson(Utf8JsonWriter writer)
    {
        ArgumentNullException.ThrowIfNull(writer);
        ChangeJson.Write(writer, this, withRows: true);
    }

    internal ulong CommitLsnValue => _transaction.CommitLsn;

    /// <summary>Reads the values of the key: of the new row, or of the old one after a delete.</summary>
    /// <returns>The values, in the order of <see cref="PostgresRelation.KeyOrdinals"/>. Empty for a truncate and for a table without a key.</returns>
    public IReadOnlyList<object?> GetKeyValues()
    {
        PostgresRow? row = New ?? Old;
        return row is null ? [] : [.. Relation.KeyOrdinals.Select(place => row[place])];
    }
}
