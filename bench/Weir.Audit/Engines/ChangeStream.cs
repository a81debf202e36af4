namespace Weir.Audit.Engines;

/// <summary>The stream of the table of changes: what a reader moves into the queue.</summary>
internal sealed class ChangeStream : IAsyncDisposable
{
    private const string Publication = "changes";

    private static readonly TimeSpan Heartbeat = TimeSpan.FromMilliseconds(500);

    // Longer than the server needs to notice that a reader was killed.
    private static readonly TimeSpan SlotWait = TimeSpan.FromMinutes(1);

    private readonly NpgsqlDataSource _database;
    private readonly PostgresCheckpointStore _checkpoints;
    private readonly PostgresChangeSource _source;

    /// <param name="database">Connections to the database.</param>
    /// <param name="connection">Its connection string, since a stream has connections of its own.</param>
    public ChangeStream(NpgsqlDataSource database, string connection)
    {
        _database = database;
        _checkpoints = new PostgresCheckpointStore(database);

        // A slot belongs to the whole server, and the database of an audit has a name that no other has.
        Slot = new NpgsqlConnectionStringBuilder(connection).Database!;
        _source = new PostgresChangeSource(
            connection, Slot, Publication, _checkpoints, new PostgresChangeSourceOptions { HeartbeatInterval = Heartbeat, SlotWait = SlotWait });
    }

    /// <summary>The name of the slot.</summary>
    public string Slot { get; }

    public async Task SetupAsync(CancellationToken stop)
    {
        await using (NpgsqlCommand publish = _database.CreateCommand($"CREATE PUBLICATION {Publication} FOR TABLE changes"))
        {
            await publish.ExecuteNonQueryAsync(stop);
        }

        await _checkpoints.SetupAsync(stop);
        await _source.SetupAsync(stop);
    }

    /// <summary>Opens it. The values are the numbers of the changes.</summary>
    public ValueTask<IWorkSource<string>> OpenAsync(CancellationToken stop) => _source.OpenSourceAsync(
        static change => Convert.ToString(change.New![0], CultureInfo.InvariantCulture)!, stop);

    /// <summary>Removes the slot, without which the database cannot be dropped.</summary>
    public Task DropAsync(CancellationToken stop) => _source.DropAsync(stop);

    public ValueTask DisposeAsync() => _source.DisposeAsync();
}
