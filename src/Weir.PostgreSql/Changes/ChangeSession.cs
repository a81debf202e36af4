using System.Threading.Channels;
using Npgsql;
using Npgsql.Replication;
using Npgsql.Replication.PgOutput;
using Npgsql.Replication.PgOutput.Messages;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>
/// A connection that streams from a position, until it breaks. It reads some batches ahead. While nobody takes them, the server waits, and
/// gets a sign of life at intervals.
/// </summary>
/// <remarks>
/// The run is one task: it reads the snapshot if there is one, and then the stream, makes batches and writes them into a bounded channel. The owner takes them
/// from there, and advances the position from any thread. The channel ends with the reason. Whoever disposes cancels the run and waits for it, and for the
/// semaphore of those who advance; if the server does not answer, its process is ended from another connection.
/// </remarks>
internal sealed class ChangeSession<T> : IAsyncDisposable
{
    private static readonly TimeSpan LongestSilence = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(1);

    // Immutable; _process and _run are set before the session is handed out.
    private readonly ChangeStream _stream;
    private readonly LogicalReplicationConnection _connection;
    private readonly ServerState _server;
    private readonly Channel<ChangeBatch<T>> _batches;
    private readonly CancellationTokenSource _stop = new();
    private readonly SemaphoreSlim _sending = new(1);
    private int _process;
    private Task _run = Task.CompletedTask;

    // Of the run. _sent is the end of the last batch that is in the channel, and _reading the read that is under way.
    private readonly RelationCache _relations;
    private readonly BatchBuilder<T> _builder;
    private ChangePosition _start;
    private ChangePosition _sent;
    private ChangeBatch<T>? _heartbeat;
    private Task _reading = Task.CompletedTask;
    private Task _nextHeartbeat = Task.CompletedTask;

    // Under the semaphore: what the server was told, and whether there is nothing to tell any more.
    private ulong _confirmed;
    private bool _isDisposed;

    private ChangeSession(ChangeStream stream, RelationCache relations, Func<PostgresChange, T> map, ServerState server, ChangePosition start)
    {
        _stream = stream;
        _relations = relations;
        _server = server;
        _start = _sent = start;
        _builder = new BatchBuilder<T>(stream, map, start);
        _batches = Channel.CreateBounded<ChangeBatch<T>>(new BoundedChannelOptions(stream.Options.MaxBufferedBatches)
        {
            SingleReader = true,
            SingleWriter = true,
        });
        TimeSpan third = server.SenderTimeout / 3;
        _connection = stream.Replication(server);
        _connection.WalReceiverStatusInterval = third > TimeSpan.Zero && third < LongestSilence ? third : LongestSilence;
    }

    public ChannelReader<ChangeBatch<T>> Batches => _batches.Reader;

    public static async Task<ChangeSession<T>> OpenAsync(
        ChangeStream stream,
        RelationCache relations,
        Func<PostgresChange, T> map,
        ServerState server,
        ChangePosition start,
        CancellationToken cancellationToken)
    {
        var session = new ChangeSession<T>(stream, relations, map, server, start);
        try
        {
            await session._connection.Open(cancellationToken).ConfigureAwait(false);
            session._process = session._connection.ProcessID;
            session._run = Task.Run(session.RunAsync, CancellationToken.None);
            return session;
        }
        catch (Exception e)
        {
            await session.DisposeAsync().ConfigureAwait(false);
            throw stream.Explained(e);
        }
    }

    /// <summary>Tells the server that everything up to a position is done for good. A broken connection fails where it is read.</summary>
    public async ValueTask AdvanceAsync(ulong lsn)
    {
        await _sending.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        try
        {
            if (lsn <= _confirmed || _isDisposed)
            {
                return;
            }

            _confirmed = lsn;
            _connection.SetReplicationStatus(new NpgsqlLogSequenceNumber(lsn));

            // Before its first message, the server may not be streaming yet. It is told at its next sign of life.
            if ((ulong)_connection.LastReceivedLsn > 0)
            {
                await _connection.SendStatusUpdate(_stop.Token).ConfigureAwait(false);
            }
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // The reading end gets the failure.
        }
        finally
        {
            _sending.Release();
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        await EndsAsync(_run).ConfigureAwait(false);
        await _sending.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        try
        {
            if (!_isDisposed)
            {
                _isDisposed = true;
                await EndsAsync(_connection.DisposeAsync().AsTask()).ConfigureAwait(false);
                _stop.Dispose();
            }
        }
        finally
        {
            _sending.Release();
        }
    }

    /// <summary>
    /// Waits until the connection has ended. A request to cancel that reaches the server before the stream has begun is lost, and nothing else would end it.
    /// </summary>
    private async Task EndsAsync(Task task)
    {
        while (!task.IsCompleted)
        {
            try
            {
                await task.WaitAsync(Patience, _stream.Options.TimeProvider).ConfigureAwait(false);
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                if (!task.IsCompleted)
                {
                    await TerminateAsync().ConfigureAwait(false);
                }
            }
        }
    }

    private async ValueTask TerminateAsync()
    {
        try
        {
            await _stream.Database.ExecuteAsync(
                "SELECT pg_catalog.pg_terminate_backend($1)", CancellationToken.None, Parameter.Of(_process)).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // A server that is gone sends nothing any more, and so the connection ends, too.
        }
    }

    private async Task RunAsync()
    {
        try
        {
            if (_start.IsSnapshot)
            {
                await ReadSnapshotAsync(_stop.Token).ConfigureAwait(false);
            }

            await ReadStreamAsync(_stop.Token).ConfigureAwait(false);
            _batches.Writer.TryComplete(new NpgsqlException("The server has ended the replication stream."));
        }
        catch (Exception e)
        {
            _batches.Writer.TryComplete(await ExplainedAsync(e).ConfigureAwait(false));
        }
    }

    /// <summary>Creates the slot, and reads the tables as they were at that moment.</summary>
    private async Task ReadSnapshotAsync(CancellationToken cancellationToken)
    {
        // The slot of a snapshot that was not finished.
        await _stream.DropSlotAsync(cancellationToken).ConfigureAwait(false);
        PgOutputReplicationSlot slot = await _connection.CreatePgOutputReplicationSlot(
            _stream.Slot, slotSnapshotInitMode: LogicalSlotSnapshotInitMode.Export, cancellationToken: cancellationToken).ConfigureAwait(false);
        ulong lsn = (ulong)slot.ConsistentPoint;
        try
        {
            await ReadTablesAsync(slot.SnapshotName!, lsn, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (_stream.Explained(e) is WorkSetupException)
        {
            // Nobody reads from this slot any more, because a snapshot begins with a new one. The server would keep its log for it.
            await _stream.DropQuietlyAsync(lsn).ConfigureAwait(false);
            throw;
        }

        // When this batch is acknowledged, the snapshot is complete and is not taken again.
        _start = new ChangePosition(lsn);
        _builder.Position = _start;
        await SendAsync(_builder.Take(), cancellationToken).ConfigureAwait(false);
        _builder.WaitForAll();
    }

    private async Task ReadTablesAsync(string snapshot, ulong lsn, CancellationToken cancellationToken)
    {
        var decoder = new ChangeDecoder<T>(_stream, _relations, _builder, SendAsync, _start);
        SnapshotReader reader = await SnapshotReader.OpenAsync(_stream, _server, snapshot, cancellationToken).ConfigureAwait(false);
        await using (reader.ConfigureAwait(false))
        {
            foreach (SnapshotTable table in await reader.TablesAsync(cancellationToken).ConfigureAwait(false))
            {
                await _relations.DefineAsync(table.Oid, table.Schema, table.Name, hasKey: true, table.Columns, cancellationToken).ConfigureAwait(false);
                PostgresRelation relation = _relations[table.Oid];
                var origin = new ChangeTransaction(0, lsn, _stream.Options.TimeProvider.GetUtcNow(), _stream.Slot, relation.FullName);
                long index = 0;
                await foreach (string?[] row in reader.ReadAsync(table, cancellationToken).ConfigureAwait(false))
                {
                    await decoder.ReadSnapshotRowAsync(origin, relation, row, index, cancellationToken).ConfigureAwait(false);
                    index++;
                }

                _builder.EndTransaction();
            }
        }

        if (_builder.HasChanges)
        {
            await SendAsync(_builder.Take(), cancellationToken).ConfigureAwait(false);
        }

        // Nobody has held the slot until now, so somebody else may have replaced it.
        if (await _stream.Preflight.FindSlotAsync(_server, cancellationToken).ConfigureAwait(false) is not { } found || found.Confirmed != lsn)
        {
            throw new WorkSetupException(
                $"Slot '{_stream.Slot}' was created again by another program while its snapshot was read. A stream has one reader at a time.");
        }
    }

    private async Task ReadStreamAsync(CancellationToken cancellationToken)
    {
        var decoder = new ChangeDecoder<T>(_stream, _relations, _builder, SendAsync, _start);
        IAsyncEnumerator<PgOutputReplicationMessage> messages = _connection.StartReplication(
            new PgOutputReplicationSlot(_stream.Slot),
            new PgOutputReplicationOptions(Escaped(_stream.Publication), PgOutputProtocolVersion.V1),
            cancellationToken,
            new NpgsqlLogSequenceNumber(_start.Lsn)).GetAsyncEnumerator(cancellationToken);
        _nextHeartbeat = NextHeartbeat(cancellationToken);
        try
        {
            while (await MoveNextAsync(messages, decoder, cancellationToken).ConfigureAwait(false))
            {
                await decoder.ReadAsync(messages.Current, cancellationToken).ConfigureAwait(false);
            }
        }
        catch (NpgsqlException) when (_builder.HasChanges && !decoder.IsInTransaction)
        {
            // What came before the failure is complete. The server may never get further.
            await SendAsync(_builder.Take(), cancellationToken).ConfigureAwait(false);
            throw;
        }
        finally
        {
            // The messages cannot be disposed while they are read.
            await _stop.CancelAsync().ConfigureAwait(false);
            await _reading.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            await messages.DisposeAsync().AsTask().ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private ValueTask<bool> MoveNextAsync(
        IAsyncEnumerator<PgOutputReplicationMessage> messages, ChangeDecoder<T> decoder, CancellationToken cancellationToken)
    {
        ValueTask<bool> next = messages.MoveNextAsync();
        return next.IsCompleted || decoder.IsInTransaction ? next : WaitAsync(next.AsTask(), decoder, cancellationToken);
    }

    /// <summary>Waits for the next transaction. Meanwhile, what has arrived is delivered, and the position advances.</summary>
    private async ValueTask<bool> WaitAsync(Task<bool> next, ChangeDecoder<T> decoder, CancellationToken cancellationToken)
    {
        _reading = next;
        if (_builder.HasChanges)
        {
            await SendAsync(_builder.Take(), cancellationToken).ConfigureAwait(false);
        }

        while (await Task.WhenAny(next, _nextHeartbeat).ConfigureAwait(false) == _nextHeartbeat)
        {
            await _nextHeartbeat.ConfigureAwait(false);
            _nextHeartbeat = NextHeartbeat(cancellationToken);

            // Read first: if nothing has arrived after that, the stream is not inside a transaction.
            ulong received = (ulong)_connection.LastReceivedLsn;
            if (!next.IsCompleted && !decoder.IsBeforePart)
            {
                await AdvanceIdleAsync(received, cancellationToken).ConfigureAwait(false);
            }
        }

        return await next.ConfigureAwait(false);
    }

    /// <summary>
    /// Advances the position while nothing arrives. The server sends a transaction when it reads its end, and reports how far it has read after that. So up
    /// to the reported position, no transaction is still to come.
    /// </summary>
    private async ValueTask AdvanceIdleAsync(ulong received, CancellationToken cancellationToken)
    {
        ulong position = Math.Max(received, _builder.Position.Lsn);
        if (position <= _sent.Lsn || _heartbeat is { IsAcknowledged: false })
        {
            return;
        }

        _builder.Position = new ChangePosition(position);
        _heartbeat = _builder.Take();
        await SendAsync(_heartbeat, cancellationToken).ConfigureAwait(false);
    }

    private async ValueTask SendAsync(ChangeBatch<T> batch, CancellationToken cancellationToken)
    {
        if (batch.Failed.Count > 0)
        {
            await StoreAsync(batch.Failed, cancellationToken).ConfigureAwait(false);
        }

        _sent = batch.End;
        await _batches.Writer.WriteAsync(batch, cancellationToken).ConfigureAwait(false);
    }

    // Stored before anybody has a position behind them: that position may be saved without an acknowledgement of these.
    private async ValueTask StoreAsync(IReadOnlyList<DeadLetter> failed, CancellationToken cancellationToken)
    {
        if (_stream.Options.DeadLetters is { } letters)
        {
            await letters.AddAsync(failed, cancellationToken).ConfigureAwait(false);
        }

        foreach (DeadLetter letter in failed)
        {
            _stream.Options.Tell(letter);
        }
    }

    private Task NextHeartbeat(CancellationToken cancellationToken) =>
        Task.Delay(_stream.Options.HeartbeatInterval, _stream.Options.TimeProvider, cancellationToken);

    // Npgsql puts the name between both kinds of quotes without escaping it.
    private static string Escaped(string name) =>
        name.Replace("\"", "\"\"", StringComparison.Ordinal).Replace("'", "''", StringComparison.Ordinal);

    /// <summary>Explains a failure of the stream. The server looks for the publication as it was when a change was made.</summary>
    private async ValueTask<Exception> ExplainedAsync(Exception e)
    {
        try
        {
            return e is PostgresException { SqlState: PostgresErrorCodes.UndefinedObject }
                && await _stream.Preflight.HasPublicationAsync(CancellationToken.None).ConfigureAwait(false)
                ? new WorkSetupException(
                    $"Publication '{_stream.Publication}' was dropped and made again, and the server cannot give the changes in between, which begin after "
                    + $"{_sent}: remove the stream (DropAsync, or weir-work cdc --drop), and set it up again with a snapshot.",
                    e)
                : _stream.Explained(e);
        }
        catch (Exception other) when (other is NpgsqlException or WorkSetupException)
        {
            return _stream.Explained(e);
        }
    }
}
