using System.Collections.Concurrent;
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

    /// <summary>Opens a connection that stays open for longer than a call.</summary>
    public async ValueTask<NpgsqlConnection> OpenAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await source.OpenConnectionAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (PostgresException e) when (Explanation(e) is { } explanation)
        {
            throw new WorkSetupException(explanation, e);
        }
    }

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

    /// <summary>Says what is wrong and what to do if a retry cannot fix it; otherwise null.</summary>
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
    /// <summary>The most bytes of a name. PostgreSQL cuts off the rest, so that two longer names could become one.</summary>
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

/// <summary>Parameters of statements, by their position.</summary>
internal static class Parameter
{
    public static NpgsqlParameter Of<T>(T value) => new NpgsqlParameter<T> { TypedValue = value };
}

/// <summary>The statements of this project. They stand in files beside the classes that run them (*.sql), and are resources of the assembly.</summary>
/// <remarks>
/// A file answers one question. It begins with a comment that says which, and which rows it locks. Lines of comment are not sent. <c>{name}</c> stands for one
/// of the values, such as the quoted name of a table. A line that ends with <c>--? kind</c>, and the lines between <c>--? kind</c> and <c>--? end</c>, are part
/// of the statement only for a caller of that kind. A file that is wrong fails when it is read, which is when the object that runs its statement is created.
/// </remarks>
/// <param name="values">What the placeholders stand for.</param>
/// <param name="kinds">The kinds that the caller is of.</param>
internal sealed class SqlFiles(IReadOnlyDictionary<string, string> values, params string[] kinds)
{
    /// <summary>Reads statements without placeholders.</summary>
    public static readonly SqlFiles Plain = new(new Dictionary<string, string>(StringComparer.Ordinal));

    private const string Kind = "--? ";
    private const string End = "end";

    // The lines of each file that was read, without those that are only comment.
    private static readonly ConcurrentDictionary<string, string[]> Files = new(StringComparer.Ordinal);

    /// <summary>Reads a statement.</summary>
    /// <param name="name">The name of its file.</param>
    /// <param name="kind">One more kind, of this statement alone; null for none.</param>
    /// <exception cref="InvalidOperationException">There is no such file, or it has a placeholder without a value.</exception>
    public string Read(string name, string? kind = null)
    {
        StringBuilder statement = new();
        string? part = null;
        foreach (string line in Files.GetOrAdd(name, Load))
        {
            int at = line.IndexOf(Kind, StringComparison.Ordinal);
            if (at >= 0 && line.AsSpan(0, at).IsWhiteSpace())
            {
                part = line[(at + Kind.Length)..];
                part = part == End ? null : part;
            }
            else if (IsOf(part) && (at < 0 || IsOf(line[(at + Kind.Length)..])))
            {
                Fill(name, at < 0 ? line : line.AsSpan(0, at).TrimEnd(), statement.Length == 0 ? statement : statement.Append('\n'));
            }
        }

        return statement.ToString();

        bool IsOf(string? its) => its is null || its == kind || kinds.Contains(its);
    }

    /// <summary>Reads a file of several statements, each of which ends with a semicolon at the end of a line.</summary>
    /// <inheritdoc cref="Read"/>
    public string[] ReadAll(string name) => Read(name).TrimEnd(';').Split(";\n", StringSplitOptions.TrimEntries);

    private static string[] Load(string name)
    {
        using Stream file = typeof(SqlFiles).Assembly.GetManifestResourceStream($"{name}.sql") ?? throw new InvalidOperationException($"There is no {name}.sql.");
        using StreamReader reader = new(file);
        return [.. reader.ReadToEnd().ReplaceLineEndings("\n").TrimEnd('\n').Split('\n').Where(static l => !IsComment(l.AsSpan().TrimStart()))];
    }

    private static bool IsComment(ReadOnlySpan<char> line) => line.StartsWith("--", StringComparison.Ordinal) && !line.StartsWith(Kind, StringComparison.Ordinal);

    // In one pass, because a value may have any characters. Braces around anything but a name are part of the statement.
    private void Fill(string name, ReadOnlySpan<char> line, StringBuilder statement)
    {
        for (int open; (open = line.IndexOf('{')) >= 0;)
        {
            statement.Append(line[..open]);
            int length = line[(open + 1)..].IndexOf('}');
            string placeholder = length < 0 ? "" : line.Slice(open + 1, length).ToString();
            if (placeholder.Length == 0 || !placeholder.All(static c => char.IsAsciiLetterLower(c) || c == '_'))
            {
                statement.Append('{');
                line = line[(open + 1)..];
                continue;
            }

            statement.Append(values.TryGetValue(placeholder, out string? value)
                ? value
                : throw new InvalidOperationException($"{name}.sql has the placeholder {{{placeholder}}}, which has no value."));
            line = line[(open + length + 2)..];
        }

        statement.Append(line);
    }
}
