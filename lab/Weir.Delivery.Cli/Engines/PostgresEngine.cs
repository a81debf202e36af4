namespace Weir.Delivery.Cli.Engines;

/// <summary>Queues in PostgreSQL, by an address or by a connection string of Npgsql.</summary>
internal static class PostgresEngine
{
    private static readonly string[] Schemes = ["postgres://", "postgresql://"];

    public static WorkEngine Engine { get; } = new(
        "postgres",
        "WEIR_POSTGRES",
        "postgres://USER@HOST/DATABASE",
        static address => IsUri(address) || address.Contains("Host=", StringComparison.OrdinalIgnoreCase),
        Open);

    private static OpenedQueue Open(OptionValue address, EngineOrder order)
    {
        NpgsqlDataSource source = NpgsqlDataSource.Create(Connection(address));
        PostgresWorkQueueOptions options = new() { KeepKeyOrder = order.KeepsKeyOrder };
        if (order.ItemsPerMessage is { } items)
        {
            options = options with { MaxItemsPerBatch = items };
        }

        // The tables that queues share are in a temporary one's own schema as well, so that nothing of it is left.
        string? schema = order.IsTemporary ? order.Name : order.Schema;
        PostgresWorkQueue<string> queue = new(source, order.Name, WorkSerializer.Text, schema is null ? options : options with { Schema = schema });
        return new OpenedQueue
        {
            Queue = queue,
            IsDurable = true,
            PublishNew = queue.EnqueueAsync,
            Connections = source,
            DropAsync = order.IsTemporary ? stop => DropAsync(source, order.Name, stop) : null,
        };
    }

    private static async ValueTask DropAsync(NpgsqlDataSource source, string schema, CancellationToken stop)
    {
        await using NpgsqlCommand drop = source.CreateCommand($"DROP SCHEMA IF EXISTS \"{schema.Replace("\"", "\"\"", StringComparison.Ordinal)}\" CASCADE");
        await drop.ExecuteNonQueryAsync(stop);
    }

    /// <summary>The connection that an address means.</summary>
    /// <exception cref="BadInputException">It cannot be read. Neither it nor its parts are in the message.</exception>
    internal static NpgsqlConnectionStringBuilder Connection(OptionValue address)
    {
        try
        {
            NpgsqlConnectionStringBuilder connection = IsUri(address.Text) ? OfUri(address.Text) : new NpgsqlConnectionStringBuilder(address.Text);
            connection.ApplicationName ??= "weir";
            return connection.Host is { Length: > 0 } ? connection : throw new FormatException();
        }
        catch (Exception e) when (e is ArgumentException or FormatException)
        {
            throw new BadInputException($"{address.Source} must be an address such as postgres://USER@HOST:5432/DATABASE, or a connection string of "
                + "Npgsql such as Host=HOST;Username=USER;Database=DATABASE; it cannot be read, and is not shown because it may have a password.");
        }
    }

    private static bool IsUri(string address) => Schemes.Any(scheme => address.StartsWith(scheme, StringComparison.OrdinalIgnoreCase));

    private static NpgsqlConnectionStringBuilder OfUri(string address)
    {
        Uri uri = new(address);
        string[] user = uri.UserInfo.Split(':', 2);
        NpgsqlConnectionStringBuilder connection = new() { Host = uri.Host };
        if (uri.Port > 0)
        {
            connection.Port = uri.Port;
        }

        Set(user[0], value => connection.Username = value);
        Set(user.ElementAtOrDefault(1), value => connection.Password = value);
        Set(uri.AbsolutePath.TrimStart('/'), value => connection.Database = value);
        foreach (string part in uri.Query.TrimStart('?').Split('&', StringSplitOptions.RemoveEmptyEntries))
        {
            string[] pair = part.Split('=', 2);
            connection[pair[0]] = Uri.UnescapeDataString(pair.ElementAtOrDefault(1) ?? "");
        }

        return connection;
    }

    private static void Set(string? text, Action<string> set)
    {
        if (text is { Length: > 0 })
        {
            set(Uri.UnescapeDataString(text));
        }
    }
}
