using System.Globalization;
using Npgsql;

namespace Weir.PostgreSql;

/// <content>Taking rows, and making a batch of them.</content>
internal sealed partial class PostgresWorkSource<T>
{
    private const int MaxRaces = 20;

    // How many takes of rows come before the next look for packs.
    private const int LookForPacks = 16;

    private static bool IsRace(PostgresException e) =>
        e.SqlState is PostgresErrorCodes.UniqueViolation or PostgresErrorCodes.DeadlockDetected or PostgresErrorCodes.SerializationFailure;

    private async Task<PostgresBatch<T>?> TakeAsync(CancellationToken stop)
    {
        if (_taken is null)
        {
            if (_isInDoubt)
            {
                _isInDoubt = !await _leases.SettleDoubtsAsync(stop).ConfigureAwait(false);
            }

            List<TakenRow> rows = await TakeNextAsync(stop).ConfigureAwait(false);
            if (rows.Count == 0)
            {
                return null;
            }
        }

        return await DeliverAsync(stop).ConfigureAwait(false);
    }

    private async ValueTask<List<TakenRow>> TakeNextAsync(CancellationToken stop)
    {
        bool isAlone;
        _wait = _queue.Options.PollInterval;
        lock (_lock)
        {
            isAlone = _open.Count == 0;
            if (_open.Any(static b => b.IsSuspect))
            {
                return [];
            }
        }

        if (!_hasSuspects || _othersFirst)
        {
            _othersFirst = false;
            List<TakenRow> rows = await TakeRowsOrPacksAsync(stop).ConfigureAwait(false);
            if (rows.Count > 0)
            {
                return rows;
            }
        }

        if (_hasSuspects)
        {
            if (!isAlone)
            {
                return [];
            }

            List<TakenRow> suspects = await TakeRowsAsync(_statements.TakeSuspects, stop).ConfigureAwait(false);
            _hasSuspects = suspects.Count > 0;
            _othersFirst = true;
            if (suspects.Count > 0)
            {
                return suspects;
            }
        }

        (double? seconds, bool isMore) = (await _database.QueryAsync(
            _statements.NextDue, static r => (r.IsDBNull(0) ? (double?)null : r.GetDouble(0), r.GetBoolean(1)), stop).ConfigureAwait(false))[0];
        if (isMore && await TakeMoreAsync(stop).ConfigureAwait(false) is { Count: > 0 } more)
        {
            return more;
        }

        if (seconds < _wait.TotalSeconds)
        {
            _wait = TimeSpan.FromSeconds(Math.Max(seconds.Value, 0.001));
        }

        return [];
    }

    /// <summary>
    /// Takes rows or packs, whichever are due for longer. Where there have been no packs, it looks for them only when no rows are left, and after some takes.
    /// </summary>
    private async ValueTask<List<TakenRow>> TakeRowsOrPacksAsync(CancellationToken stop)
    {
        if (!_statements.HasPacks)
        {
            return await TakeRowsAsync(_statements.Take, stop).ConfigureAwait(false);
        }

        if (_takesWithoutPacks == 0 && await TakePacksAsync(_statements.TakeOlderPacks, stop).ConfigureAwait(false) is { Count: > 0 } older)
        {
            return older;
        }

        _takesWithoutPacks = (_takesWithoutPacks + 1) % LookForPacks;
        if (await TakeRowsAsync(_statements.Take, stop).ConfigureAwait(false) is { Count: > 0 } rows)
        {
            return rows;
        }

        List<TakenRow> packs = await TakePacksAsync(_statements.TakePacks, stop).ConfigureAwait(false);
        _takesWithoutPacks = packs.Count > 0 ? 0 : _takesWithoutPacks;
        return packs;
    }

    private async ValueTask<List<TakenRow>> TakeMoreAsync(CancellationToken stop)
    {
        if (!_statements.HasPacks)
        {
            return await TakeBehindAsync(stop).ConfigureAwait(false);
        }

        await _database.ExecuteAsync(_statements.OpenLongPack, stop).ConfigureAwait(false);
        return await TakeRowsAsync(_statements.Take, stop).ConfigureAwait(false);
    }

    /// <summary>
    /// Takes items that stand behind very many rows of blocked keys. It goes from key to key, through all of them at most once, and continues from there the
    /// next time, so that each key has its turn.
    /// </summary>
    private async ValueTask<List<TakenRow>> TakeBehindAsync(CancellationToken stop)
    {
        for (int ends = _lastKey is null ? 1 : 0; ends < 2;)
        {
            (long[] heads, string? last, long count) = (await _database.QueryAsync(
                _lastKey is null ? _statements.FirstKeys : _statements.NextKeys,
                static r => (r.GetFieldValue<long[]>(0), r.IsDBNull(1) ? null : r.GetString(1), r.GetInt64(2)),
                stop,
                _lastKey is null ? [] : [Parameter.Of(_lastKey)]).ConfigureAwait(false))[0];
            _lastKey = count < _statements.MaxHeads ? null : last;
            ends += _lastKey is null ? 1 : 0;
            if (heads.Length > 0 && await TakeRowsAsync(_statements.TakeHeads, stop, heads).ConfigureAwait(false) is { Count: > 0 } rows)
            {
                return rows;
            }
        }

        return [];
    }

    private ValueTask<List<TakenRow>> TakeRowsAsync(string statement, CancellationToken stop, long[]? heads = null) => TakeAsync(
        async lease =>
        {
            List<TakenRow> rows = await _database.QueryAsync(
                statement, static r => new TakenRow(r), stop, heads is null ? [Parameter.Of(lease)] : [Parameter.Of(lease), Parameter.Of(heads)])
                .ConfigureAwait(false);

            // The order of the rows that a statement changes is not defined.
            rows.Sort(static (a, b) => a.Id.CompareTo(b.Id));
            return rows;
        },
        stop);

    private ValueTask<List<TakenRow>> TakePacksAsync(string statement, CancellationToken stop) => TakeAsync(
        async lease =>
        {
            int most = _queue.Options.MaxItemBytes;
            List<List<TakenRow>> packs = await _database.QueryAsync(statement, r => TakenRow.OfPack(r, most), stop, Parameter.Of(lease)).ConfigureAwait(false);
            return packs.Count == 1 ? packs[0] : [.. packs.OrderByDescending(static p => p[0].Id).SelectMany(static p => p)];
        },
        stop);

    private async ValueTask<List<TakenRow>> TakeAsync(Func<long, ValueTask<List<TakenRow>>> take, CancellationToken stop)
    {
        long lease = await _leases.CurrentAsync(stop).ConfigureAwait(false);
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                List<TakenRow> rows = await take(lease).ConfigureAwait(false);
                if (rows.Count > 0)
                {
                    _leases.Hold(lease, rows);
                    _taken = (lease, rows);
                }

                return rows;
            }
            catch (PostgresException e) when (IsRace(e) && attempt < MaxRaces)
            {
                // Another source took a row of the same key at the same moment. Nothing was taken here.
            }
            catch
            {
                _leases.Doubt(lease);
                _isInDoubt = true;
                throw;
            }
        }
    }

    // Until it has succeeded, the rows are kept here, and the next read continues with them.
    private async ValueTask<PostgresBatch<T>?> DeliverAsync(CancellationToken stop)
    {
        (long lease, List<TakenRow> rows) = _taken!.Value;
        List<WorkItem<T>> items = new(rows.Count);
        List<TakenRow> readable = new(rows.Count);
        List<(TakenRow Row, DeadLetterReason Reason, string Error)> unreadable = [];
        foreach (TakenRow row in rows)
        {
            if (row.Payload is null)
            {
                string error = string.Create(CultureInfo.InvariantCulture, $"The value has more than {_queue.Options.MaxItemBytes:N0} bytes (MaxItemBytes).");
                unreadable.Add((row, DeadLetterReason.TooLarge, error));
                continue;
            }

            try
            {
                T value = _queue.Serializer.Read(row.Payload);
                items.Add(new WorkItem<T>(row.Identity, value, row.Key, row.Attempt, HeaderText.Read(row.Headers)));
                readable.Add(row);
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                unreadable.Add((row, DeadLetterReason.Undecodable, e.ToString()));
            }
        }

        if (unreadable.Count > 0)
        {
            await OpenPacksAsync(lease, [.. unreadable.Select(static u => u.Row)], stop).ConfigureAwait(false);
            await BuryAsync(lease, unreadable, stop).ConfigureAwait(false);
        }

        _taken = null;
        _leases.Drop(lease, unreadable.Select(static u => u.Row));
        if (items.Count == 0)
        {
            _wait = TimeSpan.FromMilliseconds(1);
            return null;
        }

        readable.ForEach(static r => r.DropPayload());

        // A lease that ended while others ran too may have ended because of any of them. Only those that a suspect was alone under are its own.
        string position = (++_lastBatch).ToString(CultureInfo.InvariantCulture);
        var batch = new PostgresBatch<T>(items, position, lease, readable, _clock.GetTimestamp())
        {
            IsSuspect = readable[0].Expired > 0,
            Crashes = rows.Count == 1 ? Math.Max(0, readable[0].Expired - 1) : 0,
        };
        lock (_lock)
        {
            if (!_isDisposed)
            {
                _open.Add(batch);
            }
        }

        return batch;
    }

    private async ValueTask BuryAsync(long lease, List<(TakenRow Row, DeadLetterReason Reason, string Error)> rows, CancellationToken stop) =>
        await _database.ExecuteAsync(
            _statements.Bury,
            stop,
            Parameter.Of(rows.Select(static r => r.Row.Id).ToArray()),
            Parameter.Of(rows.Select(static r => r.Row.Delivery).ToArray()),
            Parameter.Of(rows.Select(_ => lease).ToArray()),
            Parameter.Of(rows.Select(static r => PostgresDeadLetters.Fit($"{r.Row.Identity}")).ToArray()),
            Parameter.Of(rows.Select(static r => r.Reason.ToString()).ToArray()),
            Parameter.Of(rows.Select(static r => SqlName.Storable(r.Error)).ToArray())).ConfigureAwait(false);

    /// <summary>Makes rows of the packs that some items are parts of, so that one can be told from the others. They stay under their lease.</summary>
    private async ValueTask OpenPacksAsync(long lease, List<TakenRow> rows, CancellationToken stop)
    {
        if (rows.TrueForAll(static r => r.Pack is null))
        {
            return;
        }

        // Calls for items of one pack may come at the same time.
        await _opening.WaitAsync(stop).ConfigureAwait(false);
        try
        {
            foreach (IReadOnlyList<TakenRow> pack in rows.Select(static r => r.Pack).OfType<IReadOnlyList<TakenRow>>().Distinct())
            {
                long id = pack[0].Id;
                List<long> ids = await SoonAsync(
                    _statements.OpenHeldPack, static r => r.GetInt64(0), stop, Parameter.Of(id), Parameter.Of(pack[0].Delivery), Parameter.Of(lease))
                    .ConfigureAwait(false);

                // None if the lease has ended: then nothing that is said of them counts.
                if (ids.Count == pack.Count)
                {
                    for (int i = 0; i < ids.Count; i++)
                    {
                        pack[i].Leave(ids[i]);
                    }

                    _leases.Hold(lease, pack, opened: id);
                }
            }
        }
        finally
        {
            _opening.Release();
        }
    }
}
