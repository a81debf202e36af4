using Npgsql;
using Npgsql.Replication;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>
/// The changes of the tables of a publication, from PostgreSQL's logical replication (pgoutput), in the order in which their transactions were
/// committed.
/// </summary>
/// <remarks>
/// <para>
/// The position is kept in a store of checkpoints, and the slot moves on only after that: so no change is lost, and changes are repeated only if a process
/// dies, or loses its connection, after the effect and before the checkpoint. See docs/changes.md.
/// </para>
/// <para>Thread-safe. A slot has one reader at a time, in all processes.</para>
/// </remarks>
public sealed class PostgresChangeSource : IWorkStatistics, IAsyncDisposable
{
    private static readonly TimeSpan Poll = TimeSpan.FromMilliseconds(100);
    private readonly Preflight _preflight;
    private readonly PostgresReplicationSlot _slot;

    /// <summary>Creates an object for a stream of changes. It asks nothing of the server.</summary>
    /// <param name="connectionString">
    /// How to connect to the database of the tables, as a user who may replicate. It is not part of any message or exception.
    /// </param>
    /// <param name="slot">The name of the replication slot. From 1 to 63 of the characters a-z, 0-9 and _.</param>
    /// <param name="publication">The name of the publication, exactly as in the database. It has to be there before the slot is created.</param>
    /// <param name="checkpoints">Where the position is kept. Best in the database of the effects.</param>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">An argument is not valid, or a value of <paramref name="options"/> is out of range.</exception>
    public PostgresChangeSource(
        string connectionString, string slot, string publication, ICheckpointStore checkpoints, PostgresChangeSourceOptions? options = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(connectionString);
        Slot = SlotName.Check(slot);
        Publication = SqlName.Check(publication, nameof(publication));
        ArgumentNullException.ThrowIfNull(checkpoints);
        Checkpoints = checkpoints;
        Options = options ?? new PostgresChangeSourceOptions();
        Options.Validate();
        ConnectionString = Parse(connectionString);
        DataSource = NpgsqlDataSource.Create(ConnectionString);
        Database = new Database(DataSource, $"the change stream '{slot}'", "docs/changes.md", Explain);
        _preflight = new Preflight(Database, slot, publication);
        _slot = new PostgresReplicationSlot(DataSource, slot, Options.TimeProvider);
    }

    /// <summary>The name of the slot, and of the sources.</summary>
    public string Slot { get; }

    /// <summary>The name of the stream's position in the store of checkpoints.</summary>
    public string CheckpointName => Options.CheckpointName ?? Slot;

    string IWorkStatistics.Name => Slot;

    string IWorkStatistics.MessagingSystem => Database.System;

    internal string Publication { get; }

    internal ICheckpointStore Checkpoints { get; }

    internal PostgresChangeSourceOptions Options { get; }

    internal string ConnectionString { get; }

    internal NpgsqlDataSource DataSource { get; }

    internal Database Database { get; }

    /// <summary>Looks whether a stream can work: the server, the publication, the slot, and a connection for replication. It creates nothing.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// A task that completes when nothing speaks against it. <see cref="SetupAsync"/> looks for the same before it creates anything.
    /// </returns>
    /// <exception cref="WorkSetupException">The stream cannot work. The message says why, and what to do.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async Task CheckAsync(CancellationToken cancellationToken = default)
    {
        ServerState server = await _preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
        if (await _preflight.FindSlotAsync(server, cancellationToken).ConfigureAwait(false) is null)
        {
            await CheckNewAsync(server, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Creates the stream, if it is not there: the slot, and its position in the store of checkpoints.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// A task that completes when no change from now on can be missed. It may be called at every start. With
    /// <see cref="PostgresChangeSourceOptions.InitialSnapshot"/>, the slot is created when the first source is opened. A call that fails leaves nothing that it
    /// has made.
    /// </returns>
    /// <exception cref="WorkSetupException">The stream cannot work. The message says why, and what to do.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <remarks>Creating a slot waits for the transactions that are running in the database.</remarks>
    public async Task SetupAsync(CancellationToken cancellationToken = default)
    {
        ServerState server = await _preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
        SlotState? slot = await _preflight.FindSlotAsync(server, cancellationToken).ConfigureAwait(false);
        ChangePosition? position = await LoadAsync(cancellationToken).ConfigureAwait(false);
        if (position is not null)
        {
            _preflight.CheckPosition(server, slot, position, CheckpointName);
            return;
        }

        if (Options.InitialSnapshot)
        {
            if (slot is not null)
            {
                throw new WorkSetupException(
                    $"Slot '{Slot}' already exists, and a snapshot can be taken only when a slot is created: call DropAsync first, or set InitialSnapshot to "
                    + "false.");
            }

            await CheckNewAsync(server, cancellationToken).ConfigureAwait(false);
            await SaveAsync(ChangePosition.Snapshot, cancellationToken).ConfigureAwait(false);
            return;
        }

        if (slot is not null)
        {
            await SaveAsync(new ChangePosition(slot.Confirmed), cancellationToken).ConfigureAwait(false);
            return;
        }

        await CheckNewAsync(server, cancellationToken).ConfigureAwait(false);
        ulong start = await CreateSlotAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            await SaveAsync(new ChangePosition(start), cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            // The server would keep its log for a slot that nobody reads.
            await DropQuietlyAsync(start).ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Asks the server how far behind the slot is, and how much of its log it keeps for it. See <see cref="PostgresReplicationSlot"/>.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>What is known of a stream.</returns>
    /// <exception cref="WorkSetupException">There is no slot. With a snapshot, it is created when the first source is opened.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default) => _slot.GetStatisticsAsync(cancellationToken);

    /// <summary>Opens the stream at its position.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A source of changes. Dispose it to let another process continue.</returns>
    /// <exception cref="WorkSetupException">The stream cannot work, or changes are lost. The message says why, and what to do.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask<IWorkSource<PostgresChange>> OpenSourceAsync(CancellationToken cancellationToken = default) =>
        OpenSourceAsync(static change => change, cancellationToken);

    /// <summary>Opens the stream at its position, with values of your own.</summary>
    /// <typeparam name="T">The type of the items' values.</typeparam>
    /// <param name="map">
    /// Makes a value from a change. It is called for each change in order, never concurrently. If it throws, reading ends with a
    /// <see cref="WorkSetupException"/>, and nothing is lost.
    /// </param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A source of values. Dispose it to let another process continue.</returns>
    /// <exception cref="WorkSetupException">The stream cannot work, or changes are lost. The message says why, and what to do.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<IWorkSource<T>> OpenSourceAsync<T>(Func<PostgresChange, T> map, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(map);
        var source = new ChangeWorkSource<T>(this, map);
        try
        {
            await TellOwnTablesAsync(cancellationToken).ConfigureAwait(false);
            await source.StartAsync(cancellationToken).ConfigureAwait(false);
            return source;
        }
        catch
        {
            await source.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Removes the stream: the slot, and its position. The server no longer keeps its log for it.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when it is gone. It is no error if it was not there.</returns>
    /// <exception cref="WorkSetupException">Another process reads the stream, or the user may not remove it.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async Task DropAsync(CancellationToken cancellationToken = default)
    {
        await DropSlotAsync(cancellationToken).ConfigureAwait(false);
        await Checkpoints.SaveAsync(CheckpointName, "", cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Closes the connections that are not in use. The sources stay open.</summary>
    /// <returns>A task that completes when they are closed.</returns>
    public ValueTask DisposeAsync() => DataSource.DisposeAsync();

    /// <summary>Checks that the stream can work, and waits until the slot is free.</summary>
    internal async Task<(ServerState Server, SlotState? Slot, ChangePosition Position)> CheckAsync(bool wasOurs, CancellationToken cancellationToken)
    {
        ServerState server = await _preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
        long start = Options.TimeProvider.GetTimestamp();
        TimeSpan patience = wasOurs ? Options.SlotWait + server.SenderTimeout : Options.SlotWait;
        while (true)
        {
            SlotState? slot = await _preflight.FindSlotAsync(server, cancellationToken).ConfigureAwait(false);
            if (slot is not { IsActive: true })
            {
                // Read only now: the reader that had the slot may have saved a position.
                server = await _preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
                ChangePosition? position = await LoadAsync(cancellationToken).ConfigureAwait(false);
                _preflight.CheckPosition(server, slot, position, CheckpointName);
                if (position is { IsSnapshot: true })
                {
                    await _preflight.CheckSnapshotAsync(cancellationToken).ConfigureAwait(false);
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

    internal ValueTask<SlotState?> FindSlotAsync(ServerState server, CancellationToken cancellationToken) =>
        _preflight.FindSlotAsync(server, cancellationToken);

    internal ValueTask<bool> HasPublicationAsync(CancellationToken cancellationToken) => _preflight.HasPublicationAsync(cancellationToken);

    internal async Task DropSlotAsync(CancellationToken cancellationToken)
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
    internal async ValueTask DropQuietlyAsync(ulong start)
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
    internal LogicalReplicationConnection Replication(ServerState server)
    {
        var settings = new NpgsqlConnectionStringBuilder(ConnectionString);
        settings.ReadBufferSize = Math.Max(settings.ReadBufferSize, 1 << 16);
        settings.Options = $"{settings.Options ?? Environment.GetEnvironmentVariable("PGOPTIONS")} {ValueText.ConnectionOptions}";
        settings.Timezone = "UTC";
        settings.ClientEncoding ??= server.ClientEncoding;

        // All values are read as texts, and Npgsql cannot give that of some types that it loads, such as arrays of domains.
        settings["Server Compatibility Mode"] = "NoTypeLoading";
        return new LogicalReplicationConnection(settings.ToString());
    }

    internal Exception Explained(Exception e) =>
        e is PostgresException postgres && Database.Explanation(postgres) is { } explanation ? new WorkSetupException(explanation, e) : e;

    internal ValueTask SaveAsync(ChangePosition position, CancellationToken cancellationToken) =>
        Checkpoints.SaveAsync(CheckpointName, position.ToString(), cancellationToken);

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

    // What a new stream needs and an old one has shown already.
    private async ValueTask CheckNewAsync(ServerState server, CancellationToken cancellationToken)
    {
        if (Options.InitialSnapshot)
        {
            await _preflight.CheckSnapshotAsync(cancellationToken).ConfigureAwait(false);
        }

        try
        {
            LogicalReplicationConnection connection = Replication(server);
            await using (connection.ConfigureAwait(false))
            {
                await connection.Open(cancellationToken).ConfigureAwait(false);
            }
        }
        catch (PostgresException e)
        {
            throw Explained(e);
        }
        catch (Exception e) when (e is NotSupportedException or ArgumentException)
        {
            throw new WorkSetupException($"The connection string cannot be used for replication: {e.Message}", e);
        }
    }

    private async ValueTask TellOwnTablesAsync(CancellationToken cancellationToken)
    {
        if (Options.OnNotice is not null && await _preflight.OwnTablesAsync(cancellationToken).ConfigureAwait(false) is { Length: > 0 } own)
        {
            Options.Notice(
                $"Publication '{Publication}' has tables of Weir itself ({own}). Their changes are left out, because a stream that took them would feed "
                + "itself; the server still sends them. Publish your own tables only: CREATE PUBLICATION ... FOR TABLE ..., or FOR TABLES IN SCHEMA ...");
        }
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

    private async ValueTask<ChangePosition?> LoadAsync(CancellationToken cancellationToken) =>
        ChangePosition.Parse(await Checkpoints.LoadAsync(CheckpointName, cancellationToken).ConfigureAwait(false), CheckpointName);

    private async ValueTask<ulong> CreateSlotAsync(CancellationToken cancellationToken) => (ulong)NpgsqlLogSequenceNumber.Parse(
        (await Database.QueryAsync(
            "SELECT lsn::text FROM pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')",
            static r => r.GetString(0),
            cancellationToken,
            Parameter.Of(Slot)).ConfigureAwait(false))[0]);
}
