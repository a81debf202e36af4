namespace Weir.Delivery;

/// <summary>The items that were read but not started, and the choice of those that go into the next call. Guarded by the lock of the run.</summary>
internal sealed class Backlog<T, TResult>(int maxItemsPerCall)
{
    private readonly Queue<(TrackedBatch<T, TResult> Batch, KeyedItems<T, TResult>?[]? Keyed)> _queue = new();
    private readonly Queue<WorkEntry<T, TResult>> _ready = new();
    private readonly Dictionary<string, KeyedItems<T, TResult>> _byKey = new(StringComparer.Ordinal);

    // The next item of the first batch.
    private int _next;

    /// <summary>How many items wait, including those that wait for another item of their key.</summary>
    public int Count { get; private set; }

    public bool IsEmpty => _queue.Count == 0 && _ready.Count == 0;

    /// <param name="batch">The batch, which goes to the end.</param>
    /// <param name="keys">The keys of its items; null if they have no order.</param>
    public void Add(TrackedBatch<T, TResult> batch, string?[]? keys)
    {
        int items = batch.Batch.Items.Count;
        if (items == 0)
        {
            return;
        }

        Count += items;
        KeyedItems<T, TResult>?[]? keyed = keys is null ? null : new KeyedItems<T, TResult>?[items];
        for (int i = 0; i < keys?.Length; i++)
        {
            if (keys[i] is { } key)
            {
                if (!_byKey.TryGetValue(key, out keyed![i]))
                {
                    _byKey.Add(key, keyed[i] = new KeyedItems<T, TResult>(key));
                }

                keyed[i]!.Count++;
            }
        }

        _queue.Enqueue((batch, keyed));
    }

    /// <summary>Takes the items of the next call; null if none can start now.</summary>
    /// <param name="isIdle">Whether no call is running, so that the next one could run alone.</param>
    public HostCall<T, TResult>? Take(bool isIdle)
    {
        HostCall<T, TResult>? call = null;
        while (call is null || call.IsAlone || call.Entries.Count < maxItemsPerCall)
        {
            if (!TryPeek(out WorkEntry<T, TResult> entry))
            {
                break;
            }

            // A suspect batch runs alone and whole, after everything that came before it.
            bool alone = entry.Batch.Batch.IsSuspect;
            if (call is not null ? call.IsAlone != alone || (alone && call.Entries[0].Batch != entry.Batch) : alone && !isIdle)
            {
                break;
            }

            if (_ready.Count == 0 && _queue.Peek().Keyed is null)
            {
                TakeRun(call ??= new HostCall<T, TResult>(alone), entry.Batch);
                continue;
            }

            Dequeue();
            if (entry.KeyedItems is { Running: > 0 } busy && busy.Call != call)
            {
                busy.Waiting.Enqueue(entry);
                continue;
            }

            call ??= new HostCall<T, TResult>(alone);
            if (entry.KeyedItems is { } keyed)
            {
                keyed.Call = call;
                keyed.Running++;
            }

            call.Entries.Add(entry);
            Count--;
        }

        call?.Begin();
        return call;
    }

    private bool TryPeek(out WorkEntry<T, TResult> entry)
    {
        if (_ready.TryPeek(out entry))
        {
            return true;
        }

        if (!_queue.TryPeek(out (TrackedBatch<T, TResult> Batch, KeyedItems<T, TResult>?[]? Keyed) first))
        {
            return false;
        }

        entry = new WorkEntry<T, TResult>(first.Batch, _next, first.Keyed?[_next]);
        return true;
    }

    private void Dequeue()
    {
        if (!_ready.TryDequeue(out _))
        {
            Leave(_next + 1);
        }
    }

    /// <summary>Takes items of the first batch, which have no order, as far as the call has room. One that runs alone has room for all of them.</summary>
    private void TakeRun(HostCall<T, TResult> call, TrackedBatch<T, TResult> batch)
    {
        int room = call.IsAlone ? int.MaxValue : maxItemsPerCall - call.Entries.Count;
        int run = Math.Min(room, batch.Batch.Items.Count - _next);

        // Room for what the call may get from later batches too, so that the list does not grow with each of them.
        call.Entries.EnsureCapacity(call.Entries.Count + (call.IsAlone ? run : Math.Min(room, Count)));
        for (int i = _next; i < _next + run; i++)
        {
            call.Entries.Add(new WorkEntry<T, TResult>(batch, i, null));
        }

        Count -= run;
        Leave(_next + run);
    }

    private void Leave(int next)
    {
        _next = next;
        if (_next == _queue.Peek().Batch.Batch.Items.Count)
        {
            _queue.Dequeue();
            _next = 0;
        }
    }

    /// <summary>
    /// Called when an item with a key has ended, with or without success. The next ones can start when the call has no more items of this key.
    /// </summary>
    public void Release(KeyedItems<T, TResult> keyed)
    {
        keyed.Count--;
        if (--keyed.Running > 0)
        {
            return;
        }

        keyed.Call = null;
        while (keyed.Waiting.TryDequeue(out WorkEntry<T, TResult> next))
        {
            _ready.Enqueue(next);
        }

        if (keyed.Count == 0)
        {
            _byKey.Remove(keyed.Key);
        }
    }
}

/// <summary>The batches that were read but not acknowledged, in the order of delivery. Guarded by the lock of the run.</summary>
internal sealed class BatchWindow<T, TResult>(AcknowledgementOrder order)
{
    private readonly LinkedList<TrackedBatch<T, TResult>> _batches = new();
    private List<TrackedBatch<T, TResult>> _done = [];
    private long _last;

    public int Count => _batches.Count;

    /// <summary>The items of all batches here; an empty batch counts as one.</summary>
    public long Items { get; private set; }

    /// <summary>When the oldest batch here was read; null if there is none.</summary>
    public long? OldestReadAt => _batches.First?.Value.ReadAt;

    public static int SizeOf(WorkBatch<T> batch) => Math.Max(1, batch.Items.Count);

    public void Add(TrackedBatch<T, TResult> batch)
    {
        Items += SizeOf(batch.Batch);
        batch.Enter(_batches.AddLast(batch), ++_last, this);
    }

    /// <summary>Returns the batches that can be acknowledged: all that are done, or, in order, those up to the first that is not done.</summary>
    /// <remarks>
    /// They stay until <see cref="Remove"/>, so that they count for as long as they use memory. Where the order does not matter, each is returned only once. In
    /// both orders, nobody looks at batches that cannot be acknowledged, of which there may be thousands behind a slow item.
    /// </remarks>
    public List<TrackedBatch<T, TResult>> Acknowledgeable()
    {
        List<TrackedBatch<T, TResult>> done = [];
        if (order == AcknowledgementOrder.Any)
        {
            (done, _done) = (_done, done);
            done.Sort(static (a, b) => a.Number.CompareTo(b.Number));
            return done;
        }

        for (LinkedListNode<TrackedBatch<T, TResult>>? node = _batches.First; node is { Value.IsDone: true }; node = node.Next)
        {
            done.Add(node.Value);
        }

        return done;
    }

    public void Remove(IReadOnlyCollection<TrackedBatch<T, TResult>> batches)
    {
        foreach (TrackedBatch<T, TResult> batch in batches)
        {
            Items -= SizeOf(batch.Batch);
            _batches.Remove(batch.Node!);
        }
    }

    /// <summary>Forgets all batches, at the end of the host.</summary>
    public void Clear()
    {
        Items = 0;
        _batches.Clear();
        _done.Clear();
    }

    public List<TrackedBatch<T, TResult>> All() => [.. _batches];

    /// <summary>The batches in which items are done and others are not, if the source has not acknowledged these items.</summary>
    public List<TrackedBatch<T, TResult>> DoneInPart() => [.. _batches.Where(static b => !b.IsDone && b.Settled > b.AcknowledgedItems)];

    /// <summary>Called once when all items of a batch that is here are done.</summary>
    public void Complete(TrackedBatch<T, TResult> batch)
    {
        if (order == AcknowledgementOrder.Any)
        {
            _done.Add(batch);
        }
    }
}

/// <summary>A batch that was read, and the outcomes of its items. Guarded by the lock of the run.</summary>
internal sealed class TrackedBatch<T, TResult>(WorkBatch<T> batch, bool keepsResults)
{
    private readonly bool[] _settled = new bool[batch.Items.Count];
    private readonly TResult?[] _results = keepsResults ? new TResult?[batch.Items.Count] : [];
    private readonly bool[] _hasResult = keepsResults ? new bool[batch.Items.Count] : [];
    private readonly int[] _calls = new int[batch.Items.Count];
    private int _left = batch.Items.Count;
    private BatchWindow<T, TResult>? _window;

    /// <summary>Its node in the list of the batches that are not acknowledged.</summary>
    public LinkedListNode<TrackedBatch<T, TResult>>? Node { get; private set; }

    /// <summary>Its number among the batches that were read, from 1.</summary>
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

    /// <summary>Marks an item as done, because it was processed.</summary>
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
    /// <param name="node">Its node in the list of the window.</param>
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

/// <summary>One call of the runtime: its items and their outcomes so far.</summary>
/// <remarks>
/// A cancelled call of a runtime throws and returns no outcomes. So each item records its own end here: processed items must not be delivered again.
/// </remarks>
internal sealed class HostCall<T, TResult>(bool isAlone)
{
    private (TResult Result, bool HasReturned, bool HasEnded)[] _items = [];

    /// <summary>Whether nothing else may run at the same time.</summary>
    public bool IsAlone => isAlone;

    public List<WorkEntry<T, TResult>> Entries { get; } = [];

    public void Begin() => _items = new (TResult, bool, bool)[Entries.Count];

    public void Return(int index, TResult result)
    {
        _items[index].Result = result;
        Volatile.Write(ref _items[index].HasReturned, true);
    }

    public bool TryGetReturned(int index, out TResult result)
    {
        bool has = Volatile.Read(ref _items[index].HasReturned);
        result = _items[index].Result;
        return has;
    }

    /// <summary>Whether this is the first outcome of an item, which counts. Guarded by the lock of the run.</summary>
    public bool TryEnd(int index) => !_items[index].HasEnded && (_items[index].HasEnded = true);
}

/// <summary>
/// The items of one key. At most one call of the runtime has items of a key at a time, and runs them in order. Guarded by the lock of the run.
/// </summary>
internal sealed class KeyedItems<T, TResult>(string key)
{
    public string Key => key;

    /// <summary>Items behind those that are in a call.</summary>
    public Queue<WorkEntry<T, TResult>> Waiting { get; } = new();

    /// <summary>The call that has items of this key.</summary>
    public HostCall<T, TResult>? Call { get; set; }

    /// <summary>The number of items that it has.</summary>
    public int Running { get; set; }

    /// <summary>All items of this key that have not ended, wherever they are.</summary>
    public int Count { get; set; }
}

/// <summary>An item in the host: its batch, its index there, and the items of its key if it has an order.</summary>
internal readonly record struct WorkEntry<T, TResult>(TrackedBatch<T, TResult> Batch, int Index, KeyedItems<T, TResult>? KeyedItems)
{
    public WorkItem<T> Item => Batch.Batch.Items[Index];
}
