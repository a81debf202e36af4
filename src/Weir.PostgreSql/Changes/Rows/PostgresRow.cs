using System.Buffers.Binary;

namespace Weir.PostgreSql;

/// <summary>A row as the server has sent it. A value is decoded when it is read, each time. Immutable and thread-safe.</summary>
/// <remarks>
/// <para>
/// Values have these types: <c>bool</c>, <c>short</c>, <c>int</c>, <c>long</c>, <c>float</c>, <c>double</c>, <c>decimal</c> (numeric), <c>uint</c> (oid),
/// <c>string</c> (texts, enums, json, jsonb, xml), <c>byte[]</c> (bytea), <c>Guid</c>, <c>DateOnly</c>, <c>TimeOnly</c>, <c>DateTime</c> (timestamp with kind
/// unspecified, timestamptz in UTC), <c>NpgsqlInterval</c>, and one-dimensional arrays of these. Domains have the type of their base. The value of any other
/// type is the bytes of its binary form, as <c>byte[]</c>, or a <c>string</c> if the type has none.
/// </para>
/// <para>Infinite dates and times are the smallest and greatest value of their type.</para>
/// </remarks>
public sealed class PostgresRow
{
    private readonly byte[] _data;
    private readonly int _start;
    private readonly bool _isKeyOnly;
    private int[]? _places;

    internal PostgresRow(PostgresRelation relation, byte[] data, int start, bool isKeyOnly)
    {
        Relation = relation;
        _data = data;
        _start = start;
        _isKeyOnly = isKeyOnly;
    }

    /// <summary>The table, with the columns of this row.</summary>
    public PostgresRelation Relation { get; }

    /// <summary>Reads a value.</summary>
    /// <param name="ordinal">The place of the column, from 0.</param>
    /// <returns>The value; <see langword="null"/> if it is null.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(int)"/>.</exception>
    /// <exception cref="OverflowException">A numeric does not fit into a <c>decimal</c>: <c>Get&lt;string&gt;</c> reads it.</exception>
    public object? this[int ordinal] => TryGetBytes(ordinal, out ReadOnlySpan<byte> bytes, out bool isText)
        ? isText ? ValueReader.Text(bytes) : ValueReader.Read(Relation.Columns[ordinal].BaseOid, bytes)
        : null;

    /// <summary>Reads a value.</summary>
    /// <param name="name">The name of the column.</param>
    /// <returns>The value; <see langword="null"/> if it is null.</returns>
    /// <exception cref="ArgumentException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(string)"/>.</exception>
    /// <exception cref="OverflowException">A numeric does not fit into a <c>decimal</c>: <c>Get&lt;string&gt;</c> reads it.</exception>
    public object? this[string name] => this[Relation.OrdinalOf(name)];

    /// <summary>Reads a value of a type, without boxing it.</summary>
    /// <typeparam name="T">
    /// The type that the remarks of this class name, or <c>string</c> for a numeric, or <c>byte[]</c> for the bytes as they are.
    /// </typeparam>
    /// <param name="ordinal">The place of the column, from 0.</param>
    /// <returns>The value; <see langword="null"/> if it is null and the type can be.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(int)"/>.</exception>
    /// <exception cref="InvalidCastException">The value has another type, or it is null and the type cannot be.</exception>
    /// <exception cref="OverflowException">A numeric does not fit into a <c>decimal</c>.</exception>
    public T? Get<T>(int ordinal)
    {
        if (!TryGetBytes(ordinal, out ReadOnlySpan<byte> bytes, out bool isText))
        {
            return default(T) is null
                ? default
                : throw new InvalidCastException($"Column '{Relation.Columns[ordinal].Name}' of {Relation} is null, and {typeof(T).Name} cannot be.");
        }

        uint type = isText ? TypeOid.Text : Relation.Columns[ordinal].BaseOid;
        return ValueReader.TryGet(type, bytes, out T? value)
            ? value
            : throw new InvalidCastException(
                $"Column '{Relation.Columns[ordinal].Name}' of {Relation} (type {Relation.Columns[ordinal].TypeOid}) is no {typeof(T).Name}.");
    }

    /// <summary>Reads a value of a type, without boxing it.</summary>
    /// <typeparam name="T">
    /// The type that the remarks of this class name, or <c>string</c> for a numeric, or <c>byte[]</c> for the bytes as they are.
    /// </typeparam>
    /// <param name="name">The name of the column.</param>
    /// <returns>The value; <see langword="null"/> if it is null and the type can be.</returns>
    /// <exception cref="ArgumentException">There is no such column.</exception>
    /// <exception cref="InvalidOperationException">The value was not sent: see <see cref="GetState(string)"/>.</exception>
    /// <exception cref="InvalidCastException">The value has another type, or it is null and the type cannot be.</exception>
    /// <exception cref="OverflowException">A numeric does not fit into a <c>decimal</c>.</exception>
    public T? Get<T>(string name) => Get<T>(Relation.OrdinalOf(name));

    /// <summary>Returns whether a value is there, null, or was not sent.</summary>
    /// <param name="ordinal">The place of the column, from 0.</param>
    /// <returns>Which of them.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such column.</exception>
    public PostgresValueState GetState(int ordinal)
    {
        byte kind = _data[Place(ordinal)];
        return kind switch
        {
            (byte)'u' => PostgresValueState.Unchanged,
            (byte)'n' when _isKeyOnly && !Relation.Columns[ordinal].IsKey => PostgresValueState.NotSent,
            (byte)'n' => PostgresValueState.Null,
            _ => PostgresValueState.Present,
        };
    }

    /// <summary>Returns whether a value is there, null, or was not sent.</summary>
    /// <param name="name">The name of the column.</param>
    /// <returns>Which of them.</returns>
    /// <exception cref="ArgumentException">There is no such column.</exception>
    public PostgresValueState GetState(string name) => GetState(Relation.OrdinalOf(name));

    /// <summary>The bytes of a value as they were sent, of which equal values have equal ones; empty if there are none.</summary>
    internal ReadOnlySpan<byte> RawBytes(int ordinal)
    {
        int place = Place(ordinal);
        return _data[place] is (byte)'n' or (byte)'u' ? [] : _data.AsSpan(place + 5, BinaryPrimitives.ReadInt32BigEndian(_data.AsSpan(place + 1)));
    }

    private bool TryGetBytes(int ordinal, out ReadOnlySpan<byte> bytes, out bool isText)
    {
        PostgresValueState state = GetState(ordinal);
        isText = false;
        bytes = [];
        if (state == PostgresValueState.Null)
        {
            return false;
        }

        if (state != PostgresValueState.Present)
        {
            throw new InvalidOperationException(
                $"The server has not sent the value of column '{Relation.Columns[ordinal].Name}' of {Relation} ({state}): ask GetState first.");
        }

        isText = _data[Place(ordinal)] == (byte)'t';
        bytes = RawBytes(ordinal);
        return true;
    }

    private int Place(int ordinal)
    {
        // Found when the first value is asked for: many rows are only passed on.
        int[] places = _places ??= TupleFormat.Places(_data, _start);
        ArgumentOutOfRangeException.ThrowIfNegative(ordinal);
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual(ordinal, places.Length);
        return places[ordinal];
    }
}
