namespace Weir.Delivery;

/// <summary>A batch that was read, and the outcomes of its items. Guarded by the lock of the run.</summary>
internal sealed class TrackedBatch<T, TResult>(WorkBatch<T> batch, bool keepsResults)
{
    private readonly bool[] _settled = new bool[batch.Items.Count];
    private readonly TResult?[] _results = keepsResults ? new TResult?[batch.Items.Count] : [];
    private readonly bool[] _hasResult = keepsResults ? new bool[batch.Items.Count] : [];
    private int _left = batch.Items.Count;

    public WorkBatch<T> Batch => batch;

    public bool IsDone => _left == 0;

    /// <summary>Whether the batch was acknowledged before its items ran.</summary>
    public bool IsAcknowledged { get; init; }

    /// <summary>When it was read, as the clock of the host counts.</summary>
    public long ReadAt { get; init; }

    /// <summary>Marks an item as done because it was processed.</summary>
    public void SetResult(int index, TResult result)
    {
        if (keepsResults)
        {
            _results[index] = result;
            _hasResult[index] = true;
        }

        Settle(index);
    }

    /// <summary>Marks an item as done because it is stored for another attempt or as a dead letter.</summary>
    public void Settle(int index)
    {
        if (!_settled[index])
        {
            _settled[index] = true;
            _left--;
        }
    }

    /// <summary>The items that are not done.</summary>
    public List<WorkItem<T>> Left() => [.. batch.Items.Where((_, i) => !_settled[i])];

    public void AddResults(List<WorkItem<TResult>> results)
    {
        for (int i = 0; i < _results.Length; i++)
        {
            if (_hasResult[i])
            {
                results.Add(batch.Items[i].With(_results[i]!));
            }
        }
    }
}
