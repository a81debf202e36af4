namespace Weir.PostgreSql;

/// <summary>A table whose changes are read, as it was when they happened. Immutable and thread-safe.</summary>
public sealed class PostgresRelation
{
    private readonly Dictionary<string, int> _places = new(StringComparer.Ordinal);

    /// <param name="oid">Its identity.</param>
    /// <param name="schema">Its schema.</param>
    /// <param name="name">Its name.</param>
    /// <param name="version">See <see cref="Version"/>.</param>
    /// <param name="columns">See <see cref="Columns"/>.</param>
    /// <param name="root">The table that it is a partition of, at the top; null for none.</param>
    /// <param name="partitionColumns">The columns that say in which partition a row is.</param>
    internal PostgresRelation(
        uint oid, string schema, string name, int version, IReadOnlyList<PostgresColumn> columns, string? root, IReadOnlyList<string> partitionColumns)
    {
        Oid = oid;
        Schema = schema;
        Name = name;
        Version = version;
        Columns = columns;
        FullName = $"{schema}.{name}";
        for (int i = 0; i < columns.Count; i++)
        {
            _places[columns[i].Name] = i;
        }

        KeyOrdinals = [.. Enumerable.Range(0, columns.Count).Where(i => columns[i].IsKey)];
        LaneName = root ?? FullName;
        LaneOrdinals = [.. KeyOrdinals.Where(i => !partitionColumns.Contains(columns[i].Name, StringComparer.Ordinal))];
        if (LaneOrdinals.Count == 0)
        {
            LaneOrdinals = KeyOrdinals;
        }

        IsOwn = OwnTables.Has(name, _places.Keys);
    }

    /// <summary>The identity of the table in the catalog of the database. It stays the same when the table is renamed.</summary>
    public uint Oid { get; }

    /// <summary>The name of its schema.</summary>
    public string Schema { get; }

    /// <summary>Its name.</summary>
    public string Name { get; }

    /// <summary>
    /// Counts the definitions of the table that a source has seen, from 1. Changes before and after <c>ALTER TABLE</c> have different versions, each with the
    /// columns of its time. The numbers begin anew with each source.
    /// </summary>
    public int Version { get; }

    /// <summary>The columns that are published, in the order of the table. Generated columns are not sent.</summary>
    public IReadOnlyList<PostgresColumn> Columns { get; }

    /// <summary>The places of the key's columns in <see cref="Columns"/>. Empty if the table has no key.</summary>
    public IReadOnlyList<int> KeyOrdinals { get; }

    /// <summary>The schema, a dot and the name, not quoted.</summary>
    internal string FullName { get; }

    /// <summary>
    /// The table whose changes share lanes: a row that moves to another partition is a delete in one and an insert in another.
    /// </summary>
    internal string LaneName { get; }

    /// <summary>
    /// The columns that say in which lane the changes of a row are: those of the key, without those that say in which partition it is, which change when it
    /// moves. All of the key, if the rest is nothing.
    /// </summary>
    internal IReadOnlyList<int> LaneOrdinals { get; }

    /// <summary>Whether it is a table of Weir's own, whose changes are none.</summary>
    internal bool IsOwn { get; }

    /// <summary>Returns the place of a column.</summary>
    /// <param name="name">The name of the column, exactly as in the database.</param>
    /// <returns>The place in <see cref="Columns"/>, from 0.</returns>
    /// <exception cref="ArgumentException">The table has no such column, or it is not published.</exception>
    public int OrdinalOf(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return _places.TryGetValue(name, out int place)
            ? place
            : throw new ArgumentException($"{FullName} has no published column '{name}'. It has {string.Join(", ", _places.Keys)}.", nameof(name));
    }

    /// <summary>Returns whether there is a column.</summary>
    /// <param name="name">The name of the column, exactly as in the database.</param>
    /// <returns><see langword="true"/> if the table has the column and it is published; otherwise, <see langword="false"/>.</returns>
    public bool HasColumn(string name) => _places.ContainsKey(name);

    /// <summary>The schema, a dot and the name, not quoted.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => FullName;

    internal bool IsSameAs(PostgresRelation other) =>
        Schema == other.Schema && Name == other.Name && Columns.Count == other.Columns.Count
        && LaneName == other.LaneName && LaneOrdinals.SequenceEqual(other.LaneOrdinals)
        && Columns.Zip(other.Columns).All(static c => c.First.Name == c.Second.Name && c.First.TypeOid == c.Second.TypeOid
            && c.First.TypeModifier == c.Second.TypeModifier && c.First.IsKey == c.Second.IsKey && c.First.Shape == c.Second.Shape);
}
