namespace Weir.Audit.Engines;

/// <summary>The tables of an audit: what was published, and what came of it.</summary>
internal static class AuditTables
{
    /// <summary>The origin of the identities of changes; the index is their number.</summary>
    public const string Origin = "change";

    // By the transaction that wrote a row, one can tell which rows are new.
    public const string Create = """
        CREATE TABLE changes (
            number bigint PRIMARY KEY, key text NOT NULL, time timestamptz NOT NULL DEFAULT clock_timestamp(),
            written xid8 NOT NULL DEFAULT pg_current_xact_id());
        CREATE INDEX ON changes (written);
        CREATE TABLE effects (
            sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint NOT NULL, key text NOT NULL,
            time timestamptz NOT NULL DEFAULT clock_timestamp(), written xid8 NOT NULL DEFAULT pg_current_xact_id());
        CREATE INDEX ON effects (number);
        CREATE INDEX ON effects (written);
        CREATE TABLE repeats (sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint NOT NULL);
        CREATE TABLE renewals (number bigint NOT NULL);
        INSERT INTO renewals VALUES (0);
        """;

    /// <summary>The inbox of the effects.</summary>
    public static PostgresInbox Inbox(NpgsqlDataSource database) => new(database, Origin);

    /// <summary>Whether the inbox has an identity.</summary>
    public static ValueTask<bool> IsKnownAsync(NpgsqlConnection connection, WorkId id, CancellationToken stop) => ScalarAsync<bool>(
        connection, "SELECT EXISTS (SELECT FROM weir.inbox WHERE origin = $1 AND place = $2)", stop, Parameter(id.Origin), Parameter(id.Index));

    public static NpgsqlParameter Parameter<T>(T value) => new NpgsqlParameter<T> { TypedValue = value };

    public static async ValueTask<int> ExecuteAsync(NpgsqlConnection connection, string statement, CancellationToken stop, params NpgsqlParameter[] parameters)
    {
        await using NpgsqlCommand command = new(statement, connection);
        command.Parameters.AddRange(parameters);
        return await command.ExecuteNonQueryAsync(stop);
    }

    public static async ValueTask<T> ScalarAsync<T>(NpgsqlConnection connection, string statement, CancellationToken stop, params NpgsqlParameter[] parameters)
    {
        await using NpgsqlCommand command = new(statement, connection);
        command.Parameters.AddRange(parameters);
        return (T)(await command.ExecuteScalarAsync(stop))!;
    }
}
