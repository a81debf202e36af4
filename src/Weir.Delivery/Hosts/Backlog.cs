namespace Weir.Delivery;

/// <summary>The items that were read but not started. It decides which of them go into the next call. Guarded by the lock of the run.</summary>
internal sealed class Backlog<T, TResult>(int maxItemsPerCall)
{
    private readonly Queue<WorkEntry<T, TResult>> _queue = new();
    private readonly Queue<WorkEntry<T, TResult>> _ready = new();
    private readonly Dictionary<string, KeyedItems<T, TResult>> _byKey = new(StringComparer.Ordinal);

    /// <summary>How many items wait, including those that wait for another item of their key.</summary>
    public int Count { get; private set; }

    public bool IsEmpty => _queue.Count == 0 && _ready.Count == 0;

    /// <param name="batch">The batch, which goes to the end.</param>
    /// <param name="keys">The keys of its items; null if they have no order.</param>
    public void Add(TrackedBatch<T, TResult> batch, string?[]? keys)
    {
        Count += batch.Batch.Items.Count;
        for (int i = 0; i < batch.Batch.Items.Count; i++)
        {
            KeyedItems<T, TResult>? keyed = null;
            if (keys?[i] is { } key)
            {
                if (!_byKey.TryGetValue(key, out keyed))
                {
                    _byKey.Add(key, keyed = new KeyedItems<T, TResult>(key));
                }

                keyed.Count++;
            }

            _queue.Enqueue(new WorkEntry<T, TResult>(batch, i, keyed));
        }
    }

    /// <summary>Takes the items of the next call; null if none can start now.</summary>
    /// <param name="isIdle">Whether no call is running, so that the next one could run alone.</param>
    public HostCall<T, TResult>? Take(bool isIdle)
    {
        HostCall<T, TResult>? call = null;
        while (call is null || call.IsAlone || call.Entries.Count < maxItemsPerCall)
        {
            Queue<WorkEntry<T, TResult>> from = _ready.Count > 0 ? _ready : _queue;
            if (!from.TryPeek(out WorkEntry<T, TResult> entry))
            {
                break;
            }

            // A suspect batch runs alone and whole, after everything that came before it.
            bool alone = entry.Batch.Batch.IsSuspect;
            if (call is not null ? call.IsAlone != alone || (alone && call.Entries[0].Batch != entry.Batch) : alone && !isIdle)
            {
                break;
            }

            from.Dequeue();
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
