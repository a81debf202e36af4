using System.Text.Json;

namespace Weir.PostgreSql;

/// <summary>A row as the server has sent it. A value is decoded when it is read, each time. Immutable and thread-safe.</summary>
/// <remarks>
/// <para>
/// Values have these types: <c>bool</c>, <c>short</c>, <c>int</c>, <c>long</c>, <c>float</c>, <c>double</c>, <c>decimal</c> (numeric), <c>uint</c> (oid),
/// <c>string</c> (texts, enums, json, jsonb, xml), <c>byte[]</c> (bytea), <c>Guid</c>, <c>DateOnly</c>, <c>TimeOnly</c>, <c>DateTime</c> (timestamp with kind
/// unspecified, timestamptz in UTC), <c>NpgsqlInterval</c>, and one-dimensional arrays of these. Domains have the type of their base. The value of any other
/// type is the text that the server writes for it, as <c>string</c>.
/// </para>
/// <para>Infinite dates and times are the smallest and greatest value of their type.</para>
/// </remarks>
public sealed class PostgresRow
{
    /// <summary>In place of a value that the server has not sent because it is large and unchanged. Compared by reference: no value is this object.</summary>
    internal static readonly string Unchanged = new("unchanged".AsSpan());

    /// <summary>In place of a value that is no valid UTF-8, as a database without an encoding may have it. No user gets such a row.</summary>
    internal static readonly string Unreadable = new("unreadable".AsSpan());

    private readonly string?[] _texts;
    private readonly bool _isKeyOnly;

    internal PostgresRow(PostgresRelation relation, string?[] texts, bool isKeyOnly)
    {
        Relation = relation;
        _texts = texts;
        _isKeyOnly = isKeyOnly;
    }

    /// <summary>The table, with the columns of this row.</summary>
    public PostgresRelation Relation { get; }

    /// <summary>The name of a column whose value could not be read; null for none.</summary>
    internal string? UnreadableColumn =>
        Array.FindIndex(_texts, static t => ReferenceEquals(t, Unreadable)) is >= 0 and int ordinal ? Relation.Columns[ordinal].Name : null;

    /// <summary>How many bytes the values take.</summary>
    internal long Size => _texts.Sum(static t => sizeof(char) * (long)(t?.Length ?? 0));

    /// <summary>Reads a value.</summary>
    /// <param name="ordinal">The place of the column, from 0.</param>
    /// <returns>The value; <see langword="null"/> if it is null.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(int)"/>.</exception>
    /// <exception cref="OverflowException">The value does not fit into its type, as a long numeric may not: <c>Get&lt;string&gt;</c> reads it.</exception>
    public object? this[int ordinal] => TextOf(ordinal) is { } text ? ValueText.Read(Relation.Columns[ordinal].Shape.BaseOid, text, false) : null;

    /// <summary>Reads a value.</summary>
    /// <param name="name">The name of the column.</param>
    /// <returns>The value; <see langword="null"/> if it is null.</returns>
    /// <exception cref="ArgumentException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(string)"/>.</exception>
    /// <exception cref="OverflowException">The value does not fit into its type, as a long numeric may not: <c>Get&lt;string&gt;</c> reads it.</exception>
    public object? this[string name] => this[Relation.OrdinalOf(name)];

    /// <summary>Reads a value of a type.</summary>
    /// <typeparam name="T">The type that the remarks of this class name, or <c>string</c> for the text that the server writes.</typeparam>
    /// <param name="ordinal">The place of the column, from 0.</param>
    /// <returns>The value; <see langword="null"/> if it is null and the type can be.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(int)"/>.</exception>
    /// <exception cref="InvalidCastException">The value has another type, or it is null and the type cannot be.</exception>
    /// <exception cref="OverflowException">The value does not fit into its type.</exception>
    public T? Get<T>(int ordinal)
    {
        if (TextOf(ordinal) is not { } text)
        {
            return default(T) is null
                ? default
                : throw new InvalidCastException($"Column '{Relation.Columns[ordinal].Name}' of {Relation} is null, and {typeof(T).Name} cannot be.");
        }

        bool asNullable = typeof(T).IsArray && Nullable.GetUnderlyingType(typeof(T).GetElementType()!) is not null;
        object found = typeof(T) == typeof(string) ? text : ValueText.Read(Relation.Columns[ordinal].Shape.BaseOid, text, asNullable);
        return found is T value
            ? value
            : throw new InvalidCastException(
                $"Column '{Relation.Columns[ordinal].Name}' of {Relation} (type {Relation.Columns[ordinal].TypeOid}) is not a {typeof(T).Name}.");
    }

    /// <summary>Reads a value of a type.</summary>
    /// <typeparam name="T">The type that the remarks of this class name, or <c>string</c> for the text that the server writes.</typeparam>
    /// <param name="name">The name of the column.</param>
    /// <returns>The value; <see langword="null"/> if it is null and the type can be.</returns>
    /// <exception cref="ArgumentException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(string)"/>.</exception>
    /// <exception cref="InvalidCastException">The value has another type, or it is null and the type cannot be.</exception>
    /// <exception cref="OverflowException">The value does not fit into its type.</exception>
    public T? Get<T>(string name) => Get<T>(Relation.OrdinalOf(name));

    /// <summary>Writes the values that were sent as a JSON object, whose members have the names of the columns.</summary>
    /// <param name="writer">Where to. It must be where a value can stand.</param>
    /// <remarks>
    /// Each value is what the server's <c>to_jsonb</c> makes of it, with times in UTC; docs/reference/cdc.md has the few exceptions.
    /// </remarks>
    /// <exception cref="ArgumentNullException"><paramref name="writer"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">A value is longer than a <c>Utf8JsonWriter</c> takes: some 160 million characters.</exception>
    public void WriteJson(Utf8JsonWriter writer)
    {
        ArgumentNullException.ThrowIfNull(writer);
        WriteJson(writer, Enumerable.Range(0, _texts.Length));
    }

    /// <summary>Returns whether a value is there, null, or was not sent.</summary>
    /// <param name="ordinal">The place of the column, from 0.</param>
    /// <returns>Which of them.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such column.</exception>
    public PostgresValueState GetState(int ordinal)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(ordinal);
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual(ordinal, _texts.Length);
        return _texts[ordinal] is { } text
            ? ReferenceEquals(text, Unchanged) ? PostgresValueState.Unchanged
            : ReferenceEquals(text, Unreadable) ? PostgresValueState.NotSent : PostgresValueState.Present
            : _isKeyOnly && !Relation.Columns[ordinal].IsKey ? PostgresValueState.NotSent : PostgresValueState.Null;
    }

    /// <summary>Returns whether a value is there, null, or was not sent.</summary>
    /// <param name="name">The name of the column.</param>
    /// <returns>Which of them.</returns>
    /// <exception cref="ArgumentException">There is no such column.</exception>
    public PostgresValueState GetState(string name) => GetState(Relation.OrdinalOf(name));

    /// <summary>The text of a value that was sent, of which equal values have equal ones; null for all others.</summary>
    internal string? SentText(int ordinal) => GetState(ordinal) == PostgresValueState.Present ? _texts[ordinal] : null;

    /// <summary>Writes some values, if they were sent.</summary>
    internal void WriteJson(Utf8JsonWriter writer, IEnumerable<int> ordinals)
    {
        writer.WriteStartObject();
        foreach (int ordinal in ordinals)
        {
            if (GetState(ordinal) is PostgresValueState.Present or PostgresValueState.Null)
            {
                writer.WritePropertyName(Relation.Columns[ordinal].Name);
                JsonText.Write(writer, Relation.Columns[ordinal].Shape, _texts[ordinal]);
            }
        }

        writer.WriteEndObject();
    }

    private string? TextOf(int ordinal)
    {
        PostgresValueState state = GetState(ordinal);
        return state is PostgresValueState.Present or PostgresValueState.Null
            ? _texts[ordinal]
            : throw new InvalidOperationException(
                $"The server has not sent the value of column '{Relation.Columns[ordinal].Name}' of {Relation} ({state}): ask GetState first.");
    }
}

/// <summary>A table whose changes are read, as it was when they happened. Immutable and thread-safe.</summary>
public sealed class PostgresRelation
{
    private readonly Dictionary<string, int> _ordinals = new(StringComparer.Ordinal);

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
            _ordinals[columns[i].Name] = i;
        }

        KeyOrdinals = [.. Enumerable.Range(0, columns.Count).Where(i => columns[i].IsKey)];
        LaneName = root ?? FullName;
        LaneOrdinals = [.. KeyOrdinals.Where(i => !partitionColumns.Contains(columns[i].Name, StringComparer.Ordinal))];
        if (LaneOrdinals.Count == 0)
        {
            LaneOrdinals = KeyOrdinals;
        }

        IsOwn = OwnTables.Has(name, _ordinals.Keys);
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
        return _ordinals.TryGetValue(name, out int ordinal)
            ? ordinal
            : throw new ArgumentException($"{FullName} has no published column '{name}'. It has {string.Join(", ", _ordinals.Keys)}.", nameof(name));
    }

    /// <summary>Returns whether there is a column.</summary>
    /// <param name="name">The name of the column, exactly as in the database.</param>
    /// <returns><see langword="true"/> if the table has the column and it is published; otherwise, <see langword="false"/>.</returns>
    public bool HasColumn(string name) => _ordinals.ContainsKey(name);

    /// <summary>The schema, a dot and the name, not quoted.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => FullName;

    internal bool IsSameAs(PostgresRelation other) =>
        Schema == other.Schema && Name == other.Name && Columns.Count == other.Columns.Count
        && LaneName == other.LaneName && LaneOrdinals.SequenceEqual(other.LaneOrdinals)
        && Columns.Zip(other.Columns).All(static c => c.First.Name == c.Second.Name && c.First.TypeOid == c.Second.TypeOid
            && c.First.TypeModifier == c.Second.TypeModifier && c.First.IsKey == c.Second.IsKey && c.First.Shape == c.Second.Shape);
}

/// <summary>A column of a table whose changes are read. Immutable.</summary>
public sealed class PostgresColumn
{
    internal PostgresColumn(string name, uint typeOid, int typeModifier, bool isKey, TypeShape shape)
    {
        Name = name;
        TypeOid = typeOid;
        TypeModifier = typeModifier;
        IsKey = isKey;
        Shape = shape;
    }

    /// <summary>The name.</summary>
    public string Name { get; }

    /// <summary>The OID of the column's type in the catalog of the database, such as 23 for <c>integer</c>.</summary>
    public uint TypeOid { get; }

    /// <summary>The type modifier, such as a length, as the server stores it; -1 if the type has none.</summary>
    public int TypeModifier { get; }

    /// <summary>Whether the column is part of the table's key: of its replica identity, or of its primary key if the replica identity is all columns.</summary>
    public bool IsKey { get; }

    /// <summary>What the text of the values is made of.</summary>
    internal TypeShape Shape { get; }
}

/// <summary>What the server has said about a value of a row.</summary>
public enum PostgresValueState
{
    /// <summary>The value is there.</summary>
    Present,

    /// <summary>The value is null.</summary>
    Null,

    /// <summary>
    /// The value was not sent, because it is large (stored apart, as TOAST) and the update has not changed it. It is not null. The old row has it if the
    /// table's replica identity is full.
    /// </summary>
    Unchanged,

    /// <summary>The value was not sent, because the column is not part of the key and the server sends only the key of the old row.</summary>
    NotSent,
}
