using System.Text;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>A data source, and the exceptions of its calls. A failure that a retry cannot fix is a <see cref="WorkSetupException"/>.</summary>
/// <param name="source">Where connections come from. It stays the caller's.</param>
/// <param name="what">What the calls are for, such as the queue 'mails', for messages.</param>
/// <param name="page">The page that lists the rights.</param>
/// <param name="explainOthers">Explains what only these calls can run into; null where it cannot.</param>
internal sealed class Database(
    NpgsqlDataSource source, string what, string page = "docs/reference/postgresql.md", Func<PostgresException, string?>? explainOthers = null)
{
    /// <summary>What telemetry calls the server.</summary>
    public const string System = "postgresql";

    public string What => what;

    /// <summary>Runs a call on a connection of its own.</summary>
    public async ValueTask<T> RunAsync<T>(Func<NpgsqlConnection, CancellationToken, ValueTask<T>> call, CancellationToken cancellationToken)
    {
        try
        {
            NpgsqlConnection connection = await source.OpenConnectionAsync(cancellationToken).ConfigureAwait(false);
            await using (connection.ConfigureAwait(false))
            {
                return await call(connection, cancellationToken).ConfigureAwait(false);
            }
        }
        catch (PostgresException e) when (Explanation(e) is { } explanation)
        {
            throw new WorkSetupException(explanation, e);
        }
    }

    /// <summary>Runs a statement on a connection of its own.</summary>
    /// <returns>How many rows it changed.</returns>
    public ValueTask<int> ExecuteAsync(string statement, CancellationToken cancellationToken, params NpgsqlParameter[] parameters) =>
        RunAsync(
            async (connection, token) =>
            {
                NpgsqlCommand command = Command(connection, statement, parameters);
                await using (command.ConfigureAwait(false))
                {
                    return await command.ExecuteNonQueryAsync(token).ConfigureAwait(false);
                }
            },
            cancellationToken);

    /// <summary>Runs a statement inside the transaction of its caller's connection.</summary>
    public async ValueTask<int> ExecuteOnAsync(
        NpgsqlConnection connection, string statement, CancellationToken cancellationToken, params NpgsqlParameter[] parameters)
    {
        try
        {
            NpgsqlCommand command = Command(connection, statement, parameters);
            await using (command.ConfigureAwait(false))
            {
                return await command.ExecuteNonQueryAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        catch (PostgresException e) when (Explanation(e) is { } explanation)
        {
            throw new WorkSetupException(explanation, e);
        }
    }

    /// <summary>Runs a statement on a connection of its own, and reads its rows.</summary>
    public ValueTask<List<T>> QueryAsync<T>(
        string statement, Func<NpgsqlDataReader, T> read, CancellationToken cancellationToken, params NpgsqlParameter[] parameters) =>
        RunAsync((connection, token) => ReadAllAsync(connection, statement, read, parameters, token), cancellationToken);

    /// <summary>Opens a connection on the current thread.</summary>
    public NpgsqlConnection Open() => source.OpenConnection();

    /// <summary>Runs a statement on a connection of its own and reads its rows, on the current thread.</summary>
    public List<T> Query<T>(string statement, Func<NpgsqlDataReader, T> read, TimeSpan limit, params NpgsqlParameter[] parameters)
    {
        try
        {
            using NpgsqlConnection connection = source.OpenConnection();
            return Query(connection, statement, read, limit, parameters);
        }
        catch (PostgresException e) when (Explanation(e) is { } explanation)
        {
            throw new WorkSetupException(explanation, e);
        }
    }

    /// <summary>Runs a statement and reads its rows, on the current thread.</summary>
    public static List<T> Query<T>(
        NpgsqlConnection connection, string statement, Func<NpgsqlDataReader, T> read, TimeSpan limit, params NpgsqlParameter[] parameters)
    {
        using NpgsqlCommand command = Command(connection, statement, parameters);
        command.CommandTimeout = (int)Math.Ceiling(limit.TotalSeconds);
        using NpgsqlDataReader reader = command.ExecuteReader();
        List<T> rows = [];
        while (reader.Read())
        {
            rows.Add(read(reader));
        }

        return rows;
    }

    /// <summary>Runs a statement inside the transaction of its caller's connection, and reads its rows.</summary>
    public async ValueTask<List<T>> QueryOnAsync<T>(
        NpgsqlConnection connection,
        string statement,
        Func<NpgsqlDataReader, T> read,
        CancellationToken cancellationToken,
        params NpgsqlParameter[] parameters)
    {
        try
        {
            return await ReadAllAsync(connection, statement, read, parameters, cancellationToken).ConfigureAwait(false);
        }
        catch (PostgresException e) when (Explanation(e) is { } explanation)
        {
            throw new WorkSetupException(explanation, e);
        }
    }

    /// <summary>What is wrong and what to do, if a retry cannot fix it; otherwise null.</summary>
    public string? Explanation(PostgresException e) => e.SqlState switch
    {
        PostgresErrorCodes.UndefinedTable or PostgresErrorCodes.InvalidSchemaName or PostgresErrorCodes.UndefinedColumn =>
            $"The tables of {what} are missing: call SetupAsync once, as a user who may create tables. ({e.MessageText})",
        PostgresErrorCodes.InsufficientPrivilege =>
            $"The user of the connection lacks a right that {what} needs: {e.MessageText}. {page} lists the rights.",
        PostgresErrorCodes.InvalidPassword or PostgresErrorCodes.InvalidAuthorizationSpecification or PostgresErrorCodes.InvalidCatalogName =>
            $"PostgreSQL refuses the connection for {what}: {e.MessageText}.",
        _ => explainOthers?.Invoke(e),
    };

    private static async ValueTask<List<T>> ReadAllAsync<T>(
        NpgsqlConnection connection, string statement, Func<NpgsqlDataReader, T> read, NpgsqlParameter[] parameters, CancellationToken token)
    {
        NpgsqlCommand command = Command(connection, statement, parameters);
        await using (command.ConfigureAwait(false))
        {
            NpgsqlDataReader reader = await command.ExecuteReaderAsync(token).ConfigureAwait(false);
            await using (reader.ConfigureAwait(false))
            {
                List<T> rows = [];
                while (await reader.ReadAsync(token).ConfigureAwait(false))
                {
                    rows.Add(read(reader));
                }

                return rows;
            }
        }
    }

    /// <summary>The connection of a caller's transaction.</summary>
    /// <exception cref="ArgumentException">The transaction has ended already.</exception>
    public static NpgsqlConnection ConnectionOf(NpgsqlTransaction transaction)
    {
        ArgumentNullException.ThrowIfNull(transaction);
        return transaction.Connection ?? throw new ArgumentException("The transaction has ended already.", nameof(transaction));
    }

    private static NpgsqlCommand Command(NpgsqlConnection connection, string statement, NpgsqlParameter[] parameters)
    {
        var command = new NpgsqlCommand(statement, connection);
        foreach (NpgsqlParameter parameter in parameters)
        {
            command.Parameters.Add(parameter);
        }

        return command;
    }
}

/// <summary>Names of schemas and tables inside statements.</summary>
internal static class SqlName
{
    /// <summary>PostgreSQL cuts off what is longer, so that two names could become one.</summary>
    private const int MaxBytes = 63;

    private static readonly UTF8Encoding Strict = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    /// <summary>A name as it stands in a statement, whatever characters it has.</summary>
    public static string Quote(string name) => $"\"{name.Replace("\"", "\"\"", StringComparison.Ordinal)}\"";

    /// <summary>A text as it stands in a statement.</summary>
    public static string Literal(string text) => $"'{text.Replace("'", "''", StringComparison.Ordinal)}'";

    /// <summary>Checks a name given by the user. The name of a table is a prefix and this name.</summary>
    public static string Check(string name, string parameter, string prefix = "")
    {
        ArgumentException.ThrowIfNullOrEmpty(name, parameter);
        int bytes = Bytes(name);
        int most = MaxBytes - prefix.Length;
        return bytes >= 0 && bytes <= most
            ? name
            : throw new ArgumentException(
                $"{parameter} must be a text of at most {most} bytes of UTF-8 without the character U+0000: it is part of the name of a table.", parameter);
    }

    /// <summary>How long a text is in UTF-8; negative if PostgreSQL cannot store it.</summary>
    public static int Bytes(string text)
    {
        if (text.Contains('\0', StringComparison.Ordinal))
        {
            return -1;
        }

        try
        {
            return Strict.GetByteCount(text);
        }
        catch (EncoderFallbackException)
        {
            return -1;
        }
    }

    /// <summary>The text, with what PostgreSQL cannot store replaced.</summary>
    public static string Storable(string text) =>
        Bytes(text) >= 0 ? text : Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(text)).Replace('\0', '\uFFFD');
}

/// <summary>Parameters of statements, by their place.</summary>
internal static class Parameter
{
    public static NpgsqlParameter Of<T>(T value) => new NpgsqlParameter<T> { TypedValue = value };
}
