namespace Weir.PostgreSql;

/// <summary>
/// The reading end of a stream. It connects again when a connection breaks, and continues after the last batch that it delivered, so that this process
/// sees nothing twice.
/// </summary>
/// <remarks>
/// <para>
/// A session is one connection; there is one at a time, or a task that opens one. One caller at a time reads: it takes the next batch of the session, unless
/// that waits for those before it, and enters it among the open ones. Batches are acknowledged in the order of delivery, from any thread, one call at a time.
/// Returning one forgets it and those behind it, and ends the session; the next one begins where the first of them began.
/// </para>
/// <para>
/// An acknowledgement saves the checkpoint first and then tells the server, which may give up what is before it. A crash in between repeats nothing and loses
/// nothing: the next session begins at the checkpoint.
/// </para>
/// <para>The lock is held for no call of the stream or of a session. Who acknowledges takes the semaphore first, and then the lock.</para>
/// </remarks>
internal sealed class ChangeWorkSource<T>(ChangeStream stream, Func<PostgresChange, T> map) : IWorkSource<T>
{
    // Immutable. The tables are those of the session: it has them for as long as its run lasts.
    private readonly RelationCache _relations = new(stream.Database);
    private readonly CancellationTokenSource _stop = new();
    private readonly SemaphoreSlim _acknowledging = new(1);
    private readonly WakeUp _wake = new();
    private readonly Lock _lock = new();

    // Under the lock. The batches that were delivered and are not acknowledged, in their order; where the last delivered batch ends, and the saved position;
    // the numbers of the last batch that was delivered and of the last that was acknowledged. Whoever opens a session reads _wasOurs, and whoever acknowledges
    // _saved, without it: nobody else writes them meanwhile.
    private readonly Queue<ChangeBatch<T>> _open = new();
    private Task<ChangeSession<T>>? _session;
    private ChangePosition _delivered;
    private ChangePosition _saved;
    private bool _wasOurs;
    private long _last;
    private long _acknowledged;
    private bool _isDisposed;

    public string MessagingSystem => Database.System;

    public string Name => stream.Slot;

    public AcknowledgementOrder Order => AcknowledgementOrder.Delivery;

    public IRedelivery<T>? Redelivery => null;

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        Task<ChangeSession<T>> session = Session();
        await session.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            Task<ChangeSession<T>> session = Session();
            try
            {
                if (await NextAsync(session, cancellationToken).ConfigureAwait(false) is { } batch)
                {
                    return batch;
                }
            }
            catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
            {
                throw;
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                if (await EndAsync(session).ConfigureAwait(false))
                {
                    throw;
                }

                // The session was ended by a return, and the next pass opens another one.
            }
        }
    }

    public async ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batches);
        await _acknowledging.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            List<ChangeBatch<T>> done = NextOf(batches);
            if (done.Count == 0)
            {
                return;
            }

            // First the checkpoint, which is what counts, and then the slot. What the server has given up cannot be read again: in the other order, a crash
            // between the two would lose changes.
            ChangePosition position = done[^1].End;
            if (position != _saved)
            {
                await stream.SaveAsync(position, cancellationToken).ConfigureAwait(false);
            }

            Task<ChangeSession<T>>? session;
            lock (_lock)
            {
                _saved = position;
                foreach (ChangeBatch<T> batch in done)
                {
                    // A batch that was returned meanwhile is delivered again.
                    if (batch.Owner == this)
                    {
                        batch.IsAcknowledged = true;
                        batch.Owner = null;
                        _acknowledged = batch.Number;
                        _open.Dequeue();
                    }
                }

                session = _session;
            }

            _wake.Set();
            if (session is { IsCompletedSuccessfully: true })
            {
                await session.Result.AdvanceAsync(position.Lsn).ConfigureAwait(false);
            }
        }
        finally
        {
            _acknowledging.Release();
        }
    }

    public async ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batches);
        Task<ChangeSession<T>>? session;
        lock (_lock)
        {
            ChangeBatch<T>? first = OpenOnesNeedsLock(batches).MinBy(static b => b.Number);
            if (first is null)
            {
                return;
            }

            // The stream goes back to where it was before the first of them. Those behind it are delivered again, too.
            session = _session;
            _session = null;
            ForgetNeedsLock(first);
        }

        _wake.Set();
        if (session is not null)
        {
            await CloseAsync(session).WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    public async ValueTask DisposeAsync()
    {
        Task<ChangeSession<T>>? session;
        lock (_lock)
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
            session = _session;
            _session = null;
            if (_open.TryPeek(out ChangeBatch<T>? first))
            {
                ForgetNeedsLock(first);
            }
        }

        await _stop.CancelAsync().ConfigureAwait(false);
        _wake.Set();
        if (session is not null)
        {
            await CloseAsync(session).ConfigureAwait(false);
        }

        _stop.Dispose();
    }

    private static async Task CloseAsync(Task<ChangeSession<T>> session)
    {
        await ((Task)session).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (session.IsCompletedSuccessfully)
        {
            await session.Result.DisposeAsync().ConfigureAwait(false);
        }
    }

    private async ValueTask<ChangeBatch<T>?> NextAsync(Task<ChangeSession<T>> opening, CancellationToken cancellationToken)
    {
        // A caller that stops waiting does not stop the connection from being opened: the next call gets it.
        ChangeSession<T> session = await opening.WaitAsync(cancellationToken).ConfigureAwait(false);
        await session.Batches.WaitToReadAsync(cancellationToken).ConfigureAwait(false);
        while (true)
        {
            Task wake = _wake.Next;
            lock (_lock)
            {
                if (_session != opening)
                {
                    return null;
                }

                if (!session.Batches.TryPeek(out ChangeBatch<T>? batch))
                {
                    // The session has ended. The end of the channel has the reason.
                    break;
                }

                if (!batch.Waits || _acknowledged == _last)
                {
                    session.Batches.TryRead(out _);
                    batch.Start = _delivered;
                    batch.Number = ++_last;
                    _delivered = batch.End;
                    batch.Owner = this;
                    _open.Enqueue(batch);
                    return batch;
                }
            }

            await wake.WaitAsync(cancellationToken).ConfigureAwait(false);
        }

        await session.Batches.Completion.ConfigureAwait(false);
        return null;
    }

    private Task<ChangeSession<T>> Session()
    {
        lock (_lock)
        {
            return _session ??= OpenAsync(_stop.Token);
        }
    }

    private async Task<ChangeSession<T>> OpenAsync(CancellationToken cancellationToken)
    {
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        (ServerState server, _, ChangePosition position) = await stream.WaitForSlotAsync(_wasOurs, cancellationToken).ConfigureAwait(false);
        lock (_lock)
        {
            if (!_wasOurs)
            {
                _delivered = _saved = position;
            }
            else if (position.Lsn > _delivered.Lsn || position.Lsn < _saved.Lsn)
            {
                throw new WorkSetupException(
                    $"Checkpoint '{stream.CheckpointName}' was moved to {position} by another program while the connection was lost. A stream has one reader "
                    + "at a time.");
            }
            else if (_delivered.IsSnapshot && _open.TryPeek(out ChangeBatch<T>? first))
            {
                // A snapshot starts again: what was delivered of it is delivered again.
                ForgetNeedsLock(first);
            }

            _wasOurs = true;
            position = _delivered;
        }

        return await ChangeSession<T>.OpenAsync(stream, _relations, map, server, position, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Ends a session that has failed.</summary>
    /// <returns>Whether it was the current one.</returns>
    private async Task<bool> EndAsync(Task<ChangeSession<T>> session)
    {
        lock (_lock)
        {
            if (_session != session)
            {
                return false;
            }

            _session = null;
        }

        await CloseAsync(session).ConfigureAwait(false);
        return true;
    }

    /// <summary>Goes back to before a batch: it and those behind it are no longer open, and will be delivered again.</summary>
    private void ForgetNeedsLock(ChangeBatch<T> first)
    {
        _delivered = first.Start;
        ChangeBatch<T>[] open = [.. _open];
        _open.Clear();
        foreach (ChangeBatch<T> batch in open)
        {
            if (batch.Number < first.Number)
            {
                _open.Enqueue(batch);
            }
            else
            {
                batch.Owner = null;
            }
        }

        _last = first.Number - 1;
    }

    /// <summary>The batches that are open. They must be the next ones.</summary>
    private List<ChangeBatch<T>> NextOf(IReadOnlyList<WorkBatch<T>> batches)
    {
        lock (_lock)
        {
            List<ChangeBatch<T>> open = [.. OpenOnesNeedsLock(batches)];
            for (int i = 0; i < open.Count; i++)
            {
                if (open[i].Number != _acknowledged + 1 + i)
                {
                    throw new ArgumentException("Changes are acknowledged in the order of delivery, without a gap.", nameof(batches));
                }
            }

            return open;
        }
    }

    private IEnumerable<ChangeBatch<T>> OpenOnesNeedsLock(IReadOnlyList<WorkBatch<T>> batches) =>
        batches.OfType<ChangeBatch<T>>().Where(b => b.Owner == this);
}
