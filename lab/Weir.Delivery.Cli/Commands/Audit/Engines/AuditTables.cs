namespace Weir.Delivery.Cli.Commands.Audit.Engines;

/// <summary>The tables of an audit: what was published, and what came of it.</summary>
internal static class AuditTables
{
    /// <summary>The origin of the identities of changes; the index is their number.</summary>
    public const string Origin = "change";

    private const int Keys = 16;
    private const int InARow = 3;

    public const string Create = """
        CREATE TABLE changes (number bigint PRIMARY KEY, key text NOT NULL);
        CREATE TABLE inbox (id text PRIMARY KEY);
        CREATE TABLE effects (sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint NOT NULL, key text NOT NULL);
        CREATE INDEX ON effects (number);
        CREATE TABLE repeats (sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint NOT NULL);
        """;

    /// <summary>The key of a change: some in a row have the same.</summary>
    public static string KeyOf(long number) => string.Create(CultureInfo.InvariantCulture, $"key {number / InARow % Keys}");

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
