using Npgsql;
using Npgsql.Replication;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>
/// What a stream of changes is to those who work on it: its names and options, the database, the slot on the server and the position in the store of
/// checkpoints. Immutable, and so thread-safe: what a reader has got from the stream is in <see cref="ChangeWorkSource{T}"/>.
/// </summary>
/// <remarks>
/// The checkpoint is what counts. It is saved first, and the slot is moved after it: the server can give everything from the checkpoint on for as long as the
/// slot is not past it.
/// </remarks>
internal sealed class ChangeStream
{
    private static readonly TimeSpan Poll = TimeSpan.FromMilliseconds(100);
    private readonly string _connectionString;
    private readonly ICheckpointStore _checkpoints;

    public ChangeStream(string connectionString, string slot, string publication, ICheckpointStore checkpoints, PostgresChangeSourceOptions options)
    {
        Slot = slot;
        Publication = publication;
        Options = options;
        _checkpoints = checkpoints;
        _connectionString = Parse(connectionString);
        DataSource = NpgsqlDataSource.Create(_connectionString);
        Database = new Database(DataSource, $"the change stream '{slot}'", "docs/changes.md", Explain);
        Preflight = new Preflight(Database, slot, publication);
    }

    public string Slot { get; }

    public string Publication { get; }

    public string CheckpointName => Options.CheckpointName ?? Slot;

    public PostgresChangeSourceOptions Options { get; }

    public NpgsqlDataSource DataSource { get; }

    public Database Database { get; }

    public Preflight Preflight { get; }

    /// <summary>Checks that the stream can work, and waits until no other reader has the slot.</summary>
    /// <param name="wasOurs">Whether a reader of this process had it, which the server may not have noticed yet.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The server, the slot (null for none: a snapshot creates it), and the position to read from.</returns>
    public async Task<(ServerState Server, SlotState? Slot, ChangePosition Position)> WaitForSlotAsync(bool wasOurs, CancellationToken cancellationToken)
    {
        ServerState server = await Preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
        long start = Options.TimeProvider.GetTimestamp();
        TimeSpan patience = wasOurs ? Options.SlotWait + server.SenderTimeout : Options.SlotWait;
        while (true)
        {
            SlotState? slot = await Preflight.FindSlotAsync(server, cancellationToken).ConfigureAwait(false);
            if (slot is not { IsActive: true })
            {
                // Read only now: the reader that had the slot may have saved a position.
                server = await Preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
                ChangePosition? position = await LoadAsync(cancellationToken).ConfigureAwait(false);
                Preflight.CheckPosition(server, slot, position, CheckpointName);
                if (position is { IsSnapshot: true })
                {
                    await Preflight.CheckSnapshotAsync(cancellationToken).ConfigureAwait(false);
                }

                if (position is null)
                {
                    // A slot that somebody else has created.
                    position = new ChangePosition(slot!.Confirmed);
                    await SaveAsync(position.Value, cancellationToken).ConfigureAwait(false);
                }

                return (server, slot, position.Value);
            }

            if (Options.TimeProvider.GetElapsedTime(start) >= patience)
            {
                throw InUse();
            }

            await Task.Delay(Poll, Options.TimeProvider, cancellationToken).ConfigureAwait(false);
        }
    }

    public async ValueTask<ChangePosition?> LoadAsync(CancellationToken cancellationToken) =>
        ChangePosition.Parse(await _checkpoints.LoadAsync(CheckpointName, cancellationToken).ConfigureAwait(false), CheckpointName);

    public ValueTask SaveAsync(ChangePosition position, CancellationToken cancellationToken) =>
        _checkpoints.SaveAsync(CheckpointName, position.ToString(), cancellationToken);

    /// <summary>Makes the stream one that was never set up.</summary>
    public ValueTask ForgetPositionAsync(CancellationToken cancellationToken) => _checkpoints.SaveAsync(CheckpointName, "", cancellationToken);

    public async ValueTask<ulong> CreateSlotAsync(CancellationToken cancellationToken) => (ulong)NpgsqlLogSequenceNumber.Parse(
        (await Database.QueryAsync(
            "SELECT lsn::text FROM pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')",
            static r => r.GetString(0),
            cancellationToken,
            Parameter.Of(Slot)).ConfigureAwait(false))[0]);

    public async Task DropSlotAsync(CancellationToken cancellationToken)
    {
        // The server may need a moment to notice that the last reader has left.
        long start = Options.TimeProvider.GetTimestamp();
        while (true)
        {
            try
            {
                await Database.ExecuteAsync(
                    "SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
                    cancellationToken,
                    Parameter.Of(Slot)).ConfigureAwait(false);
                return;
            }
            catch (PostgresException e) when (e.SqlState == PostgresErrorCodes.ObjectInUse)
            {
                if (Options.TimeProvider.GetElapsedTime(start) >= Options.SlotWait)
                {
                    throw InUse();
                }
            }

            await Task.Delay(Poll, Options.TimeProvider, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Removes a slot that was created here, if it is still the same one. What fails on the way is of no use to anybody.</summary>
    public async ValueTask DropQuietlyAsync(ulong start)
    {
        try
        {
            await Database.ExecuteAsync(
                "SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots "
                + "WHERE slot_name = $1 AND NOT active AND confirmed_flush_lsn = $2::text::pg_lsn",
                CancellationToken.None,
                Parameter.Of(Slot),
                Parameter.Of(new NpgsqlLogSequenceNumber(start).ToString())).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // Whoever looks into the failure that led here finds this one too.
        }
    }

    /// <summary>A connection for replication, which is not open.</summary>
    public LogicalReplicationConnection Replication(ServerState server)
    {
        var settings = new NpgsqlConnectionStringBuilder(_connectionString);
        settings.ReadBufferSize = Math.Max(settings.ReadBufferSize, 1 << 16);
        settings.Options = $"{settings.Options ?? Environment.GetEnvironmentVariable("PGOPTIONS")} {ValueText.ConnectionOptions}";
        settings.Timezone = "UTC";
        settings.ClientEncoding ??= server.ClientEncoding;

        // All values are read as texts, and Npgsql cannot give that of some types that it loads, such as arrays of domains.
        settings["Server Compatibility Mode"] = "NoTypeLoading";
        return new LogicalReplicationConnection(settings.ToString());
    }

    public Exception Explained(Exception e) =>
        e is PostgresException postgres && Database.Explanation(postgres) is { } explanation ? new WorkSetupException(explanation, e) : e;

    private static string Parse(string connectionString)
    {
        NpgsqlConnectionStringBuilder parsed;
        try
        {
            parsed = new NpgsqlConnectionStringBuilder(connectionString);
        }
        catch (Exception e) when (e is ArgumentException or FormatException or InvalidOperationException)
        {
            // Without the exception, whose message may have a part of the password.
            throw new ArgumentException("connectionString is not a connection string for Npgsql, such as Host=...;Username=...", nameof(connectionString));
        }

        return parsed.Host?.Contains(',', StringComparison.Ordinal) != true && parsed.TargetSessionAttributes is null or "" or "any"
            ? parsed.ToString()
            : throw new ArgumentException(
                "connectionString must name one host, without Target Session Attributes: a replication slot is on one server. Give it a name that leads "
                + "to the primary.",
                nameof(connectionString));
    }

    private static string? Explain(PostgresException e) => e.SqlState switch
    {
        PostgresErrorCodes.UndefinedObject or PostgresErrorCodes.ObjectNotInPrerequisiteState or PostgresErrorCodes.ConfigurationLimitExceeded
            or PostgresErrorCodes.FeatureNotSupported =>
            $"The server cannot give changes: {e.MessageText}.{(e.Hint is null ? "" : $" {e.Hint}")}",
        _ => null,
    };

    private WorkSetupException InUse() => new(
        $"Slot '{Slot}' is in use: a stream has one reader at a time. Stop the other process, or wait until the server notices that it has disappeared.");
}
