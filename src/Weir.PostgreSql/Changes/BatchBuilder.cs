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
        var items = new WorkItem<T>[_changes.Count];
        for (int i = 0; i < items.Length; i++)
        {
            (PostgresChange change, string? key) = _changes[i];
            items[i] = new WorkItem<T>(change.Id, Map(change), key);
        }

        var batch = new ChangeBatch<T>(items, Position, _waits);
        _changes.Clear();
        _bytes = 0;

        // The batch after one that is processed alone waits for it.
        _waits = _isAlone;
        _isAlone = false;
        return batch;
    }

    private T Map(PostgresChange change)
    {
        try
        {
            return map(change);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            throw new WorkSetupException(
                $"The mapping of change {change.Id} ({change.Kind} of {change.Relation}) failed: {e.Message} Nothing is lost: fix the mapping, or read "
                + "the changes themselves and map them in the processor, where a failure becomes a dead letter.",
                e);
        }
    }
}
