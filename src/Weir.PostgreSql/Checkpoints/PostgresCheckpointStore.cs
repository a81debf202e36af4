using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// Keeps how far change streams have been processed in a table, alone or in the same transaction as the effects: then each effect happens exactly once.
/// </summary>
/// <remarks>Thread-safe. Each name has one writer at a time.</remarks>
public sealed class PostgresCheckpointStore : ICheckpointStore, ICheckpointLocks
{
    private readonly Database _database;
    private readonly SetupPart _setup;
    private readonly string _schema;
    private readonly string _load;
    private readonly string _loadLocked;
    private readonly string _save;

    /// <summary>Creates an object for the table. It asks nothing of the server.</summary>
    /// <param name="source">Where connections come from. It stays the caller's, and is not disposed.</param>
    /// <param name="schema">The schema of the table. At most 63 bytes of UTF-8.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="schema"/> is empty or too long.</exception>
    public PostgresCheckpointStore(NpgsqlDataSource source, string schema = "weir")
    {
        ArgumentNullException.ThrowIfNull(source);
        _schema = SqlName.Check(schema, nameof(schema));
        SqlFiles files = new(new Dictionary<string, string>(StringComparer.Ordinal) { ["table"] = $"{SqlName.Quote(schema)}.checkpoints" });
        _database = new Database(source, "the store of checkpoints");
        _setup = new SetupPart(_database, schema, "checkpoints", "", () => files.ReadAll("checkpoint_tables"));
        _load = files.Read("checkpoint_load");
        _loadLocked = files.Read("checkpoint_load", "locked");
        _save = files.Read("checkpoint_save");
    }

    /// <summary>Keeps a second run away from a name, with an advisory lock that a connection holds as long as the run goes on.</summary>
    public ICheckpointLocks Locks => this;

    /// <summary>Creates the table, where it is not there yet.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when the store can be used.</returns>
    /// <exception cref="WorkSetupException">Something is there that does not match, or the user may not create tables.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public Task SetupAsync(CancellationToken cancellationToken = default) => _setup.CreateAsync(cancellationToken);

    /// <inheritdoc/>
    /// <exception cref="WorkSetupException">The table is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        List<string> found = await _database.QueryAsync(_load, static r => r.GetString(0), cancellationToken, Parameter.Of(name)).ConfigureAwait(false);
        return found.Count == 0 ? null : found[0];
    }

    /// <summary>Reads the position inside a transaction, and keeps others from changing it until the transaction ends.</summary>
    /// <param name="transaction">A transaction that is open. It stays the caller's.</param>
    /// <param name="name">The name of the stream.</param>
    /// <param name="cancellationToken">Ends the wait. The transaction has failed then.</param>
    /// <returns>The position; <see langword="null"/> if none was ever saved. Then nothing is locked.</returns>
    /// <exception cref="WorkSetupException">The table is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<string?> LoadAsync(NpgsqlTransaction transaction, string name, CancellationToken cancellationToken = default)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        List<string> found = await _database.QueryOnAsync(
            Database.ConnectionOf(transaction), _loadLocked, static r => r.GetString(0), cancellationToken, Parameter.Of(name)).ConfigureAwait(false);
        return found.Count == 0 ? null : found[0];
    }

    /// <inheritdoc/>
    /// <exception cref="WorkSetupException">The table is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        ArgumentNullException.ThrowIfNull(position);
        await _database.ExecuteAsync(_save, cancellationToken, Parameter.Of(name), Parameter.Of(position)).ConfigureAwait(false);
    }

    /// <summary>Saves the position inside a transaction, together with the effects that it stands for: both are there, or neither.</summary>
    /// <param name="transaction">A transaction that is open. It stays the caller's.</param>
    /// <param name="name">The name of the stream.</param>
    /// <param name="position">Everything up to it has been processed.</param>
    /// <param name="cancellationToken">Ends the wait. The transaction has failed then.</param>
    /// <returns>A task that completes when the position is part of the transaction.</returns>
    /// <exception cref="WorkSetupException">The table is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask SaveAsync(NpgsqlTransaction transaction, string name, string position, CancellationToken cancellationToken = default)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        ArgumentNullException.ThrowIfNull(position);
        await _database.ExecuteOnAsync(Database.ConnectionOf(transaction), _save, cancellationToken, Parameter.Of(name), Parameter.Of(position))
            .ConfigureAwait(false);
    }

    /// <inheritdoc/>
    async ValueTask<ICheckpointLock?> ICheckpointLocks.TryLockAsync(string name, CancellationToken cancellationToken) =>
        await AdvisoryLock.TryTakeAsync(_database, $"{_schema}.{name}", null, cancellationToken).ConfigureAwait(false);
}
