namespace Weir.Delivery;

/// <summary>The items that were read but not started. It decides which of them go into the next call. Guarded by the lock of the run.</summary>
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
