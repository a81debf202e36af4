using System.Security.Cryptography;

namespace Weir.Audit.Servers;

/// <summary>The database of an audit, which is created for it and dropped afterwards.</summary>
internal sealed class AuditDatabase : IAsyncDisposable
{
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan DropPatience = TimeSpan.FromSeconds(60);

    private readonly AuditServer _server;
    private bool _isDropped;

    private AuditDatabase(AuditServer server, string name)
    {
        _server = server;
        Name = name;
        Connection = With(server.Admin.Host!, server.Admin.Port);
        Source = NpgsqlDataSource.Create(Connection);
    }

    public string Name { get; }

    public string Connection { get; }

    /// <summary>Connections of the audit itself, which no fault reaches but the end of the server.</summary>
    public NpgsqlDataSource Source { get; }

    public static async Task<AuditDatabase> CreateAsync(AuditServer server, CancellationToken stop)
    {
        string name = $"weir_audit_{RandomNumberGenerator.GetHexString(12, lowercase: true)}";
        await OnServerAsync(server, $"CREATE DATABASE {name}", stop);
        AuditDatabase database = new(server, name);
        try
        {
            await database.RetryAsync(c => AuditTables.ExecuteAsync(c, AuditTables.Create, stop), stop);
            return database;
        }
        catch
        {
            await database.DisposeAsync();
            throw;
        }
    }

    /// <summary>The connection string by way of a proxy.</summary>
    public string With(string host, int port) => new NpgsqlConnectionStringBuilder(_server.Admin.ConnectionString)
    {
        Host = host,
        Port = port,
        Database = Name,
        Pooling = true,
        Multiplexing = false,
    }.ConnectionString;

    /// <summary>Runs a call on a connection, and repeats it while the server is away.</summary>
    public async Task<T> RetryAsync<T>(Func<NpgsqlConnection, ValueTask<T>> call, CancellationToken stop)
    {
        while (true)
        {
            try
            {
                await using NpgsqlConnection connection = await Source.OpenConnectionAsync(stop);
                return await call(connection);
            }
            catch (NpgsqlException e) when (e is not PostgresException || e.IsTransient || e.SqlState is "57P01" or "57P02" or "57P03")
            {
                await Task.Delay(Pause, stop);
            }
        }
    }

    /// <summary>Ends all sessions of the database but the one that asks. Those of the server's own, such as vacuuming, are not the user's to end.</summary>
    public Task EndSessionsAsync(CancellationToken stop) => RetryAsync(
        c => AuditTables.ScalarAsync<long>(
            c,
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
            """,
            stop),
        stop);

    public async Task DropAsync()
    {
        if (_isDropped)
        {
            return;
        }

        _isDropped = true;
        await Source.DisposeAsync();
        long start = Stopwatch.GetTimestamp();
        for (bool isForced = false; ; isForced = !isForced)
        {
            try
            {
                await OnServerAsync(_server, $"DROP DATABASE IF EXISTS {Name}{(isForced ? " WITH (FORCE)" : "")}", CancellationToken.None);
                return;
            }
            catch (PostgresException e) when (
                e.SqlState is PostgresErrorCodes.ObjectInUse or PostgresErrorCodes.InsufficientPrivilege && Stopwatch.GetElapsedTime(start) < DropPatience)
            {
                // Sessions of those who were killed take a moment to end. By force they end at once, unless the server is just vacuuming there,
                // which only a superuser may end: without force it is asked to stop.
            }
        }
    }

    /// <summary>Lists what the server still has of it.</summary>
    public async Task<IReadOnlyList<string>> FindLeftoversAsync()
    {
        await using NpgsqlConnection connection = new(_server.Admin.ConnectionString);
        await connection.OpenAsync(CancellationToken.None);
        async ValueTask<bool> HasAsync(string table, string column) => await AuditTables.ScalarAsync<bool>(
            connection,
            $"SELECT EXISTS (SELECT FROM {table} WHERE {column} = $1)",
            CancellationToken.None,
            AuditTables.Parameter(Name));
        return
        [
            .. await HasAsync("pg_database", "datname") ? ["the database"] : Array.Empty<string>(),
            .. await HasAsync("pg_replication_slots", "database") ? ["a replication slot"] : Array.Empty<string>(),
        ];
    }

    public async ValueTask DisposeAsync()
    {
        try
        {
            await DropAsync();
        }
        catch (NpgsqlException) when (_server.IsOwn)
        {
            // It goes with its server.
        }
    }

    private static async Task OnServerAsync(AuditServer server, string statement, CancellationToken stop)
    {
        await using NpgsqlConnection connection = new(server.Admin.ConnectionString);
        await connection.OpenAsync(stop);
        await AuditTables.ExecuteAsync(connection, statement, stop);
    }
}
