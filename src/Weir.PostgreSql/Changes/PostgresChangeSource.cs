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
    private readonly ChangeStream _stream;
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
        slot = SlotName.Check(slot);
        publication = SqlName.Check(publication, nameof(publication));
        ArgumentNullException.ThrowIfNull(checkpoints);
        options ??= new PostgresChangeSourceOptions();
        options.Validate();
        _stream = new ChangeStream(connectionString, slot, publication, checkpoints, options);
        _slot = new PostgresReplicationSlot(_stream.DataSource, slot, options.TimeProvider);
    }

    /// <summary>The name of the slot, and of the sources.</summary>
    public string Slot => _stream.Slot;

    /// <summary>The name of the stream's position in the store of checkpoints.</summary>
    public string CheckpointName => _stream.CheckpointName;

    string IWorkStatistics.Name => Slot;

    string IWorkStatistics.MessagingSystem => Database.System;

    /// <summary>Looks whether a stream can work: the server, the publication, the slot, and a connection for replication. It creates nothing.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// A task that completes when nothing speaks against it. <see cref="SetupAsync"/> looks for the same before it creates anything.
    /// </returns>
    /// <exception cref="WorkSetupException">The stream cannot work. The message says why, and what to do.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async Task CheckAsync(CancellationToken cancellationToken = default)
    {
        ServerState server = await _stream.Preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
        if (await _stream.Preflight.FindSlotAsync(server, cancellationToken).ConfigureAwait(false) is null)
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
        ServerState server = await _stream.Preflight.CheckServerAsync(cancellationToken).ConfigureAwait(false);
        SlotState? slot = await _stream.Preflight.FindSlotAsync(server, cancellationToken).ConfigureAwait(false);
        ChangePosition? position = await _stream.LoadAsync(cancellationToken).ConfigureAwait(false);
        if (position is not null)
        {
            _stream.Preflight.CheckPosition(server, slot, position, CheckpointName);
            return;
        }

        if (_stream.Options.InitialSnapshot)
        {
            if (slot is not null)
            {
                throw new WorkSetupException(
                    $"Slot '{Slot}' already exists, and a snapshot can be taken only when a slot is created: call DropAsync first, or set InitialSnapshot to "
                    + "false.");
            }

            await CheckNewAsync(server, cancellationToken).ConfigureAwait(false);
            await _stream.SaveAsync(ChangePosition.Snapshot, cancellationToken).ConfigureAwait(false);
            return;
        }

        if (slot is not null)
        {
            await _stream.SaveAsync(new ChangePosition(slot.Confirmed), cancellationToken).ConfigureAwait(false);
            return;
        }

        await CheckNewAsync(server, cancellationToken).ConfigureAwait(false);
        ulong start = await _stream.CreateSlotAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            await _stream.SaveAsync(new ChangePosition(start), cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            // The server would keep its log for a slot that nobody reads.
            await _stream.DropQuietlyAsync(start).ConfigureAwait(false);
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
        var source = new ChangeWorkSource<T>(_stream, map);
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
        await _stream.DropSlotAsync(cancellationToken).ConfigureAwait(false);
        await _stream.ForgetPositionAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Closes the connections that are not in use. The sources stay open.</summary>
    /// <returns>A task that completes when they are closed.</returns>
    public ValueTask DisposeAsync() => _stream.DataSource.DisposeAsync();

    // What a new stream needs and an old one has shown already.
    private async ValueTask CheckNewAsync(ServerState server, CancellationToken cancellationToken)
    {
        if (_stream.Options.InitialSnapshot)
        {
            await _stream.Preflight.CheckSnapshotAsync(cancellationToken).ConfigureAwait(false);
        }

        try
        {
            LogicalReplicationConnection connection = _stream.Replication(server);
            await using (connection.ConfigureAwait(false))
            {
                await connection.Open(cancellationToken).ConfigureAwait(false);
            }
        }
        catch (PostgresException e)
        {
            throw _stream.Explained(e);
        }
        catch (Exception e) when (e is NotSupportedException or ArgumentException)
        {
            throw new WorkSetupException($"The connection string cannot be used for replication: {e.Message}", e);
        }
    }

    private async ValueTask TellOwnTablesAsync(CancellationToken cancellationToken)
    {
        if (_stream.Options.OnNotice is not null && await _stream.Preflight.OwnTablesAsync(cancellationToken).ConfigureAwait(false) is { Length: > 0 } own)
        {
            _stream.Options.Notice(
                $"Publication '{_stream.Publication}' has tables of Weir itself ({own}). Their changes are left out, because a stream that took them would "
                + "feed itself; the server still sends them. Publish your own tables only: CREATE PUBLICATION ... FOR TABLE ..., or FOR TABLES IN SCHEMA ...");
        }
    }
}
