namespace Weir.Delivery;

/// <summary>A batch that was read, and the outcomes of its items. Guarded by the lock of the run.</summary>
internal sealed class TrackedBatch<T, TResult>(WorkBatch<T> batch, bool keepsResults)
{
    private readonly bool[] _settled = new bool[batch.Items.Count];
    private readonly TResult?[] _results = keepsResults ? new TResult?[batch.Items.Count] : [];
    private readonly bool[] _hasResult = keepsResults ? new bool[batch.Items.Count] : [];
    private readonly int[] _calls = new int[batch.Items.Count];
    private int _left = batch.Items.Count;
    private BatchWindow<T, TResult>? _window;

    /// <summary>Its place among the batches that are not acknowledged.</summary>
    public LinkedListNode<TrackedBatch<T, TResult>>? Node { get; private set; }

    /// <summary>The number of batches that were read up to it.</summary>
    public long Number { get; private set; }

    public WorkBatch<T> Batch => batch;

    public bool IsDone => _left == 0;

    /// <summary>How many items are done.</summary>
    public int Settled => batch.Items.Count - _left;

    /// <summary>How many items the source has acknowledged before the batch was done.</summary>
    public int AcknowledgedItems { get; set; }

    /// <summary>Whether the batch was acknowledged before its items ran.</summary>
    public bool IsAcknowledged { get; init; }

    /// <summary>When it was read, as the clock of the host counts.</summary>
    public long ReadAt { get; init; }

    /// <summary>Counts a call of the processor for an item. Needs no lock: an item has only one call at a time.</summary>
    public void CountCall(int index) => _calls[index]++;

    /// <summary>How often the processor was called for an item.</summary>
    public int Calls(int index) => _calls[index];

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
            if (--_left == 0)
            {
                _window?.Complete(this);
            }
        }
    }

    /// <summary>Called when it is added to the batches that are not acknowledged, before any of its items ends.</summary>
    /// <param name="node">Its place.</param>
    /// <param name="number">Its number.</param>
    /// <param name="window">All of them. It is told when the batch is done.</param>
    public void Enter(LinkedListNode<TrackedBatch<T, TResult>> node, long number, BatchWindow<T, TResult> window)
    {
        Node = node;
        Number = number;
        _window = window;
        if (IsDone)
        {
            window.Complete(this);
        }
    }

    /// <summary>The items that are not done.</summary>
    public List<WorkItem<T>> Left() => [.. batch.Items.Where((_, i) => !_settled[i])];

    /// <summary>The items that are done.</summary>
    public DoneItems<T> Done() => new(batch, [.. Enumerable.Range(0, _settled.Length).Where(i => _settled[i])]);

    /// <summary>Adds the results, and what each of them is the result of.</summary>
    public void AddResults(List<WorkItem<TResult>> results, List<WorkEntry<T, TResult>> entries)
    {
        for (int i = 0; i < _results.Length; i++)
        {
            if (_hasResult[i])
            {
                results.Add(batch.Items[i].With(_results[i]!));
                entries.Add(new WorkEntry<T, TResult>(this, i, null));
            }
        }
    }
}
