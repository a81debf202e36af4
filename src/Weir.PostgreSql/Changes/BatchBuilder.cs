namespace Weir.PostgreSql;

/// <summary>
/// Collects changes. A batch is taken only when the next change has arrived, or when the transaction has ended, so it is known whether its last
/// change is the last of its transaction.
/// </summary>
/// <param name="source">The stream.</param>
/// <param name="map">Makes the value of an item from a change.</param>
/// <param name="start">Where the stream is.</param>
internal sealed class BatchBuilder<T>(PostgresChangeSource source, Func<PostgresChange, T> map, ChangePosition start)
{
    private readonly int _maxChanges = source.Options.MaxChangesPerBatch;
    private readonly int _maxBytes = source.Options.MaxBytesPerBatch;
    private readonly List<(PostgresChange Change, string? Key)> _changes = [];
    private long _bytes;
    private bool _isAlone;
    private bool _waits;

    /// <summary>Where the stream is when the changes here are done.</summary>
    public ChangePosition Position { get; set; } = start;

    public bool HasChanges => _changes.Count > 0;

    /// <summary>Whether what is here must be taken before the next change.</summary>
    public bool MustBeTaken(bool nextIsAlone) =>
        _changes.Count > 0 && (nextIsAlone || _isAlone || _changes.Count >= _maxChanges || _bytes >= _maxBytes);

    public void Add(PostgresChange change, string? key, bool isAlone, ChangePosition position)
    {
        _changes.Add((change, key));
        _bytes += (change.Old?.Size ?? 0) + (change.New?.Size ?? 0);
        _isAlone |= isAlone;
        _waits |= isAlone;
        Position = position;
    }

    /// <summary>The next batch waits until all before are acknowledged.</summary>
    public void WaitForAll() => _waits = true;

    /// <summary>The last change that was added was the last of its transaction.</summary>
    public void EndTransaction()
    {
        if (_changes.Count > 0)
        {
            _changes[^1].Change.IsLast = true;
        }
    }

    public ChangeBatch<T> Take()
    {
        var items = new List<WorkItem<T>>(_changes.Count);
        List<DeadLetter> failed = [];
        foreach ((PostgresChange change, string? key) in _changes)
        {
            if ((change.New?.UnreadableColumn ?? change.Old?.UnreadableColumn) is { } column)
            {
                failed.Add(Failed(change, key, $"the server sends no valid UTF-8 for column '{column}'.", null));
                continue;
            }

            try
            {
                items.Add(new WorkItem<T>(change.Id, map(change), key));
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                failed.Add(Failed(change, key, $"its mapping failed: {e.Message}", e));
            }
        }

        var batch = new ChangeBatch<T>(items, Position, _waits, failed);
        _changes.Clear();
        _bytes = 0;

        // The batch after one that is processed alone waits for it.
        _waits = _isAlone;
        _isAlone = false;
        return batch;
    }

    private DeadLetter Failed(PostgresChange change, string? key, string reason, Exception? cause)
    {
        string message = $"Change {change.Id} ({change.Kind} of {change.Relation}) cannot be read: {reason}";
        var letter = new DeadLetter
        {
            Id = change.Id.ToString(),
            Source = source.Slot,
            Reason = cause is null ? DeadLetterReason.Undecodable : DeadLetterReason.Rejected,
            Error = cause is null ? message : $"{message}\n{cause}",
            Time = source.Options.TimeProvider.GetUtcNow(),
            Key = key,
            Payload = ChangeJson.Bytes(change),
        };
        if (source.Options.OnError == PostgresChangeErrorMode.Stop)
        {
            source.Options.Tell(letter);
            throw new WorkSetupException(
                $"{message} Nothing is lost: mend its cause, or set {nameof(PostgresChangeSourceOptions.OnError)} to go on behind it.", cause!);
        }

        return letter;
    }
}
