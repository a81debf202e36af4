namespace Weir.PostgreSql;

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
