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
        Array.FindIndex(_texts, static t => ReferenceEquals(t, Unreadable)) is >= 0 and int place ? Relation.Columns[place].Name : null;

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
