using System.Collections;
using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>A queue of work as the source of a run, which tells it when what it took has ended.</summary>
internal abstract class WorkQueueSource<T, TItem>(WorkQueue<T> queue) : OneByOneSource<TItem>, ILanes
{
    private readonly Lock _lock = new();
    private readonly Dictionary<long, TItem> _taken = [];
    private ValueTask<bool> _waiting;
    private bool _isOpen;

    protected WorkQueue<T> Queue => queue;

    public void ItemEnded(long index)
    {
        TItem? item;
        lock (_lock)
        {
            if (!_taken.Remove(index, out item))
            {
                return;
            }
        }

        queue.Ended(ItemsOf(item).Count);
    }

    public override long Unread => queue.Count;

    public override void OnReady(Action continuation) => _waiting.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public override void Close()
    {
        if (_isOpen)
        {
            queue.EndReading([.. _taken.OrderBy(static pair => pair.Key).SelectMany(pair => ItemsOf(pair.Value))]);
        }
    }

    protected abstract bool TryTake([MaybeNullWhen(false)] out TItem item);

    protected abstract IReadOnlyCollection<T> ItemsOf(TItem item);

    protected override ClaimResult Step(out TItem? item)
    {
        if (!_isOpen)
        {
            queue.BeginReading();
            _isOpen = true;
        }

        while (!TryTake(out item))
        {
            ValueTask<bool> waiting = queue.WaitAsync(CancellationToken);
            if (!waiting.IsCompleted)
            {
                _waiting = waiting;
                return ClaimResult.Pending;
            }

            if (!waiting.GetAwaiter().GetResult())
            {
                return ClaimResult.Empty;
            }
        }

        lock (_lock)
        {
            // The item that is read now.
            _taken.Add(NextIndex, item);
        }

        return ClaimResult.Claimed;
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishStep(out TItem? item)
    {
        ValueTask<bool> waiting = _waiting;
        _waiting = default;
        bool hasMore = waiting.GetAwaiter().GetResult();
        if (hasMore && !IsHeld)
        {
            return Step(out item);
        }

        item = default;
        return hasMore ? ClaimResult.Paused : ClaimResult.Empty;
    }
}

/// <summary>A queue of work in the form that runtimes take. Runs know it and read the queue itself.</summary>
internal sealed class WorkQueueItems<T>(WorkQueue<T> queue) : IReadAsSource<T>
{
    public WorkQueue<T> Queue => queue;

    public Source<T> MakeSource() => new WorkQueueItemSource<T>(queue);

    public IEnumerator<T> GetEnumerator()
    {
        queue.BeginReading();
        try
        {
            while (true)
            {
                while (queue.TryTake(out T? item))
                {
                    yield return item;
                    queue.Ended(1);
                }

                if (!queue.WaitAsync(CancellationToken.None).AsTask().GetAwaiter().GetResult())
                {
                    yield break;
                }
            }
        }
        finally
        {
            queue.EndReading([]);
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}

/// <summary>The items of a queue of work, one by one.</summary>
internal sealed class WorkQueueItemSource<T>(WorkQueue<T> queue) : WorkQueueSource<T, T>(queue)
{
    protected override bool TryTake([MaybeNullWhen(false)] out T item) => Queue.TryTake(out item);

    protected override IReadOnlyCollection<T> ItemsOf(T item) => [item];
}

/// <summary>
/// Batches of a queue of work: what is queued, up to the size. A batch does not wait to be fuller, because more items may come only from this one.
/// </summary>
internal sealed class WorkQueueBatchSource<T>(WorkQueue<T> queue, int batchSize) : WorkQueueSource<T, IReadOnlyList<T>>(queue)
{
    protected override bool TryTake([MaybeNullWhen(false)] out IReadOnlyList<T> item)
    {
        if (!Queue.TryTake(out T? next))
        {
            item = null;
            return false;
        }

        List<T> batch = [next];
        while (batch.Count < batchSize && Queue.TryTake(out next))
        {
            batch.Add(next);
        }

        item = batch.ToArray();
        return true;
    }

    protected override IReadOnlyCollection<T> ItemsOf(IReadOnlyList<T> item) => item;
}

/// <summary>A bounded set of keys. The user's comparer runs under no lock, so keys of the same hash are in an immutable list.</summary>
internal sealed class SeenKeys<TKey>(int most, IEqualityComparer<TKey> comparer)
    where TKey : notnull
{
    private readonly ConcurrentDictionary<int, Node> _byHash = [];
    private int _count;

    /// <summary>Adds a key.</summary>
    /// <returns>False if it is there; null if there is no room for it.</returns>
    /// <exception cref="InvalidOperationException">The key is <see langword="null"/>.</exception>
    public bool? TryAdd(TKey key)
    {
        if (key is null)
        {
            throw new InvalidOperationException("The key of an item is null.");
        }

        int hash = comparer.GetHashCode(key);
        Node? compared = null;
        bool counted = false;
        try
        {
            while (true)
            {
                Node? first = _byHash.GetValueOrDefault(hash);
                for (Node? node = first; node != compared; node = node!.Next)
                {
                    if (comparer.Equals(node!.Key, key))
                    {
                        return false;
                    }
                }

                compared = first;
                if (!counted && Interlocked.Increment(ref _count) > most)
                {
                    Interlocked.Decrement(ref _count);
                    return null;
                }

                counted = true;
                Node added = new(key, first);
                if (first is null ? _byHash.TryAdd(hash, added) : _byHash.TryUpdate(hash, added, first))
                {
                    counted = false;
                    return true;
                }
            }
        }
        finally
        {
            if (counted)
            {
                Interlocked.Decrement(ref _count);
            }
        }
    }

    private sealed class Node(TKey key, Node? next)
    {
        public TKey Key => key;

        public Node? Next => next;
    }
}
