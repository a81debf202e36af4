using Npgsql;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>
/// A replication slot, looked at from outside: how far behind its reader is, and how much of its log the server keeps for it. It neither reads nor moves the
/// slot.
/// </summary>
/// <remarks>
/// Thread-safe. Any user who may connect can ask, also on a standby with slots of its own. Keep one object for as long as you watch: what it has seen is what
/// <see cref="WorkStatistics.Lag"/> is measured by.
/// </remarks>
public sealed class PostgresReplicationSlot : IWorkStatistics
{
    private static readonly string Query = SqlFiles.Plain.Read("slot_reading");

    private readonly Lock _lock = new();
    private readonly LogEnds _ends = new();
    private readonly Database _database;
    private readonly TimeProvider _clock;

    /// <summary>Creates an object for a slot. It asks nothing of the server.</summary>
    /// <param name="source">Where connections come from: any database of the server. It stays the caller's, and is not disposed.</param>
    /// <param name="slot">The name of the slot. From 1 to 63 of the characters a-z, 0-9 and _.</param>
    /// <param name="timeProvider">The clock for <see cref="WorkStatistics.Lag"/>; <see langword="null"/> for <see cref="TimeProvider.System"/>.</param>
    /// <exception cref="ArgumentNullException"><paramref name="source"/> or <paramref name="slot"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="slot"/> is no name of a slot.</exception>
    public PostgresReplicationSlot(NpgsqlDataSource source, string slot, TimeProvider? timeProvider = null)
    {
        ArgumentNullException.ThrowIfNull(source);
        Name = SlotName.Check(slot);
        _database = new Database(source, $"the replication slot '{slot}'", "docs/reference/queue-gauges.md");
        _clock = timeProvider ?? TimeProvider.System;
    }

    /// <inheritdoc/>
    public string Name { get; }

    string IWorkStatistics.MessagingSystem => Database.System;

    /// <summary>Asks for the slot's position and for the end of the log.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>What is known of a stream. A slot that is lost, or is physical, has no lag.</returns>
    /// <exception cref="WorkSetupException">There is no such slot.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default)
    {
        long before = _clock.GetTimestamp();
        List<SlotReading> found = await _database.QueryAsync(
            Query,
            static row => new SlotReading(
                row.GetBoolean(0),
                row.IsDBNull(1) ? null : row.GetString(1),
                row.IsDBNull(2) ? null : row.GetInt64(2),
                Lsn(row, 3),
                Lsn(row, 4),
                Lsn(row, 5)),
            cancellationToken,
            Parameter.Of(Name)).ConfigureAwait(false);
        if (found.Count == 0)
        {
            throw new WorkSetupException($"The server has no replication slot '{Name}': it was dropped, was never created, or is on another server.");
        }

        SlotReading slot = found[0];
        TimeSpan? lag = null;
        if (slot is { Confirmed: { } confirmed, LogEnd: { } end })
        {
            lock (_lock)
            {
                // At least: from when the end of the log had been seen to when it was asked for now.
                lag = _ends.LagAt(confirmed, end, _clock.GetTimestamp()) is { } since ? Later(TimeSpan.Zero, _clock.GetElapsedTime(since, before)) : null;
            }
        }

        return new WorkStatistics
        {
            LagBytes = Distance(slot.Confirmed, slot.LogEnd),
            Lag = lag,
            RetainedBytes = Distance(slot.Restart, slot.LogEnd),
            RemainingBytes = slot.Remaining,
            IsActive = slot.IsActive,
            LogState = slot.Status switch
            {
                "reserved" => WorkLogState.Reserved,
                "extended" => WorkLogState.Extended,
                "unreserved" => WorkLogState.Unreserved,
                "lost" => WorkLogState.Lost,
                _ => null,
            },
        };
    }

    private static TimeSpan Later(TimeSpan a, TimeSpan b) => a > b ? a : b;

    private static ulong? Lsn(NpgsqlDataReader row, int column) => row.IsDBNull(column) ? null : (ulong)NpgsqlLogSequenceNumber.Parse(row.GetString(column));

    private static long? Distance(ulong? from, ulong? to) => from is { } a && to is { } b ? b > a ? (long)(b - a) : 0 : null;

    private sealed record SlotReading(bool IsActive, string? Status, long? Remaining, ulong? Confirmed, ulong? Restart, ulong? LogEnd);
}

/// <summary>
/// Where the log of a server ended at past readings, and so since when a place in it has been behind. It needs no clock of the server and nothing of what is
/// in the log. Not thread-safe.
/// </summary>
internal sealed class LogEnds
{
    // Beyond it, every second reading is forgotten, and those that follow are kept as far apart, so that a stream that is behind for days takes no more memory.
    private const int Most = 1024;

    private readonly List<(ulong End, long At)> _behind = [];
    private long _apart;
    private bool _knowsBefore;

    /// <summary>How many readings are kept.</summary>
    public int Count => _behind.Count;

    /// <summary>Adds a reading.</summary>
    /// <param name="position">How far the log has been processed.</param>
    /// <param name="end">Where the log ends.</param>
    /// <param name="at">When, as a clock counts.</param>
    /// <returns>
    /// The time of the first reading at which the log ended beyond the position; <paramref name="at"/> if it does not; null if no reading before it is known.
    /// </returns>
    public long? LagAt(ulong position, ulong end, long at)
    {
        // Those up to the position are done. Another one before the first that is left says that this one was the first.
        int done = _behind.FindIndex(reading => reading.End > position);
        done = done < 0 ? _behind.Count : done;
        _knowsBefore |= done > 0;
        _behind.RemoveRange(0, done);
        if (_behind.Count == 0)
        {
            _apart = 0;
        }

        if (end <= position)
        {
            _knowsBefore = true;
            return at;
        }

        if (_behind.Count == 0 || (end > _behind[^1].End && at - _behind[^1].At >= _apart))
        {
            _behind.Add((end, at));
        }

        if (_behind.Count > Most)
        {
            Thin();
        }

        return _knowsBefore || _behind[0].At < at ? _behind[0].At : null;
    }

    private void Thin()
    {
        // The first stays: it says how long.
        int kept = 0;
        for (int i = 0; i < _behind.Count; i += 2)
        {
            _behind[kept++] = _behind[i];
        }

        _behind.RemoveRange(kept, _behind.Count - kept);
        _apart = (_behind[^1].At - _behind[0].At) / (kept - 1);
    }
}

/// <summary>Names of replication slots.</summary>
internal static class SlotName
{
    public static string Check(string slot)
    {
        ArgumentException.ThrowIfNullOrEmpty(slot);
        return slot.Length <= 63 && slot.All(static c => c is (>= 'a' and <= 'z') or (>= '0' and <= '9') or '_')
            ? slot
            : throw new ArgumentException("slot must have from 1 to 63 of the characters a-z, 0-9 and _: it is the name of a replication slot.", nameof(slot));
    }
}
