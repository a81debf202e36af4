namespace Weir.Audit.Engines;

/// <summary>The queue in PostgreSQL: changes are enqueued in the transaction that records them.</summary>
internal sealed class PostgresAuditEngine : IAuditEngine
{
    private const string Schema = "weir";
    private const string Name = "changes";
    private const int ItemsPerBatch = 32;

    // Short, so that faults outlast them.
    private static readonly TimeSpan ShortLease = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan Poll = TimeSpan.FromMilliseconds(250);

    private readonly NpgsqlDataSource _database;
    private readonly PostgresWorkQueue<string> _queue;

    public PostgresAuditEngine(NpgsqlDataSource database, AuditScenario scenario, SeededFault fault)
    {
        _database = database;
        PostgresWorkQueueOptions users = new() { Schema = Schema, KeepKeyOrder = scenario.Keys > 0 && fault != SeededFault.NoKeyOrder };
        PostgresWorkQueueOptions options =
            scenario.HasDefaults ? users : users with { MaxItemsPerBatch = ItemsPerBatch, LeaseDuration = ShortLease, PollInterval = Poll };
        Lease = options.LeaseDuration;
        _queue = new PostgresWorkQueue<string>(database, Name, WorkSerializer.Text, options);
    }

    public IWorkQueue<string> Queue => _queue;

    public TimeSpan? Lease { get; }

    public async ValueTask PublishAsync(NpgsqlTransaction transaction, IReadOnlyList<WorkItem<string>> items, CancellationToken cancellationToken)
    {
        await _queue.EnqueueAsync(transaction, items, cancellationToken: cancellationToken);
        await transaction.CommitAsync(cancellationToken);
        await _queue.NotifyAsync(cancellationToken);
    }

    public bool CountsWhatIsHeld => true;

    public async ValueTask<long> CountWaitingAsync(CancellationToken cancellationToken)
    {
        WorkStatistics now = await _queue.GetStatisticsAsync(cancellationToken);
        return (now.Waiting ?? 0) + (now.Scheduled ?? 0) + (now.InFlight ?? 0);
    }

    public async ValueTask<IReadOnlyList<string>> FindLeftoversAsync(int workers, CancellationToken cancellationToken)
    {
        long leases = await CountAsync("consumers", cancellationToken);
        return leases <= workers ? [] : [string.Create(CultureInfo.InvariantCulture, $"{leases} leases of {workers} workers")];
    }

    public async ValueTask<long> CountDeadLettersAsync(CancellationToken cancellationToken)
    {
        long letters = 0;
        await foreach (DeadLetter letter in _queue.DeadLetters.ListAsync(int.MaxValue, cancellationToken))
        {
            letters++;
        }

        return letters;
    }

    public ValueTask DropAsync(CancellationToken cancellationToken) => default;

    public ValueTask DisposeAsync() => _queue.DisposeAsync();

    private async ValueTask<long> CountAsync(string table, CancellationToken cancellationToken)
    {
        await using NpgsqlConnection connection = await _database.OpenConnectionAsync(cancellationToken);
        return await AuditTables.ScalarAsync<long>(connection, $"SELECT count(*) FROM {Schema}.{table}", cancellationToken);
    }
}
