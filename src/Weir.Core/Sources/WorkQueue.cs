using System.Collections;
using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using Weir.Core;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir;

// A queue of work: a source that grows while it is read.
//
// - It ends by itself when nothing is queued, nothing that was taken still runs, no key is being looked at, and nobody holds it open (IsDoneNeedsLock). A run
//   tells it of each item that has ended (ILanes.ItemEnded), because only then it is known that the item adds nothing more.
// - One reader at a time. One that finds nothing waits (WaitAsync). Whoever adds an item, ends one or lets the queue end takes the waiter under the lock, if it
//   has something to do, and wakes it outside the lock and on another thread.
// - The key function of the user runs under no lock. Until it has returned, the item has a reserved slot, so that the bound holds.

/// <summary>Makes queues of work in which no two items have the same key.</summary>
public static class WorkQueue
{
    /// <summary>The usual bound of a queue, and of the keys it remembers.</summary>
    public const int DefaultCapacity = 1_000_000;

    /// <summary>A queue that takes one item of each key, ever: the first one that is added.</summary>
    /// <typeparam name="T">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="keySelector">
    /// The key of an item, such as a page's address. It runs for each added item, under no lock, from several threads at once.
    /// </param>
    /// <param name="capacity">How many items may be queued. At least 1.</param>
    /// <param name="maxKeys">How many keys the queue remembers. At least 1. A further key is refused like an item that is too many.</param>
    /// <param name="comparer">Compares keys, under no lock, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <param name="order">Which item is next.</param>
    /// <returns>The queue, empty.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="keySelector"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A number is less than 1, or <paramref name="order"/> is not defined.</exception>
    public static WorkQueue<T> DistinctBy<T, TKey>(
        Func<T, TKey> keySelector,
        int capacity = DefaultCapacity,
        int maxKeys = DefaultCapacity,
        IEqualityComparer<TKey>? comparer = null,
        WorkQueueOrder order = WorkQueueOrder.OldestFirst)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(keySelector);
        if (maxKeys < 1)
        {
            throw new ArgumentOutOfRangeException(nameof(maxKeys), maxKeys, $"{nameof(maxKeys)} must be at least 1.");
        }

        SeenKeys<TKey> seen = new(maxKeys, comparer ?? EqualityComparer<TKey>.Default);
        return new WorkQueue<T>(capacity, order, item => seen.TryAdd(keySelector(item)));
    }

    /// <summary>A bounded set of keys. The user's comparer runs under no lock, so keys of the same hash are in an immutable list.</summary>
    private sealed class SeenKeys<TKey>(int most, IEqualityComparer<TKey> comparer)
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
}

/// <summary>
/// A source of items that grows while it is worked on: a crawler finds more pages. It ends by itself when nothing is queued and nothing that was taken
/// from it is still running.
/// </summary>
/// <typeparam name="T">The type of the items.</typeparam>
/// <remarks>
/// <para>
/// Give it to any operator, or <see cref="AsEnumerable"/> to any runtime. Add the first items, and add more inside the items: <see cref="Add"/>,
/// <see cref="AddRange"/> and <see cref="TryAdd"/> are thread-safe. The run tells the queue when an item has ended, in whatever way: after its last attempt,
/// failed, timed out or cancelled. To add items from outside while a run may be about to end, hold the queue open with <see cref="KeepOpen"/>.
/// </para>
/// <para>
/// The queue is bounded by <see cref="Capacity"/>. No <c>Add</c> ever waits, because the items that add are those that make room: it fails.
/// </para>
/// <para>
/// One run at a time may read the queue. A run that is cancelled, stopped or fails leaves in the queue what it has not begun, for another run; if that is
/// nothing, and nobody holds the queue open, the queue has ended with the run. When it has ended, it takes no more items.
/// </para>
/// </remarks>
[SuppressMessage("Naming", "CA1711:Identifiers should not have incorrect suffix", Justification = "It is a queue of work.")]
public sealed class WorkQueue<T> : IAsyncEnumerable<T>, IReadAsSource<T>
{
    private readonly Lock _lock = new();

    // Immutable.
    private readonly Func<T, bool?>? _isNew;
    private readonly WorkQueueOrder _order;

    // Under the lock.
    private readonly LinkedList<T> _items = [];
    private TaskCompletionSource<bool>? _waiter;
    private int _running;

    // Slots of items whose key is being looked at.
    private int _reserved;
    private int _keptOpen;
    private bool _isRead;
    private bool _isCompleted;

    /// <summary>Creates an empty queue.</summary>
    /// <param name="capacity">How many items may be queued. At least 1.</param>
    /// <param name="order">Which item is next.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="capacity"/> is less than 1, or <paramref name="order"/> is not defined.</exception>
    public WorkQueue(int capacity = WorkQueue.DefaultCapacity, WorkQueueOrder order = WorkQueueOrder.OldestFirst)
        : this(capacity, order, null)
    {
    }

    internal WorkQueue(int capacity, WorkQueueOrder order, Func<T, bool?>? isNew)
    {
        if (capacity < 1)
        {
            throw new ArgumentOutOfRangeException(nameof(capacity), capacity, $"{nameof(capacity)} must be at least 1.");
        }

        if (order is not (WorkQueueOrder.OldestFirst or WorkQueueOrder.NewestFirst))
        {
            throw new ArgumentOutOfRangeException(nameof(order), order, $"{nameof(order)} must be OldestFirst or NewestFirst.");
        }

        Capacity = capacity;
        _order = order;
        _isNew = isNew;
    }

    private enum Answer
    {
        Added,
        Known,
        Full,
        ManyKeys,
        Completed,
    }

    /// <summary>How many items may be queued, without those that are running.</summary>
    public int Capacity { get; }

    /// <summary>How many items are queued.</summary>
    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _items.Count;
            }
        }
    }

    /// <summary>How many items were taken and have not ended.</summary>
    public int Running
    {
        get
        {
            lock (_lock)
            {
                return _running;
            }
        }
    }

    /// <summary>Whether the queue has ended, and takes no more items.</summary>
    public bool IsCompleted
    {
        get
        {
            lock (_lock)
            {
                return _isCompleted;
            }
        }
    }

    /// <summary>Adds an item.</summary>
    /// <param name="item">The item.</param>
    /// <returns>Whether it was added: false if an item of its key was added before.</returns>
    /// <exception cref="InvalidOperationException">The queue is full, or has ended, or its key is <see langword="null"/>.</exception>
    public bool Add(T item) => Put(item) switch
    {
        Answer.Added => true,
        Answer.Known => false,
        Answer.Full => throw new InvalidOperationException($"The queue already has {Capacity} items, which is its Capacity."),
        Answer.ManyKeys => throw new InvalidOperationException("The queue already remembers as many keys as its maxKeys."),
        _ => throw new InvalidOperationException(
            "The queue has ended, because nothing was queued or running. Add items inside items, or hold the queue open with KeepOpen."),
    };

    /// <summary>Adds items, one after the other.</summary>
    /// <param name="items">The items.</param>
    /// <returns>How many were added, without those of a key that was added before.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="items"/> is <see langword="null"/>.</exception>
    /// <exception cref="InvalidOperationException">The same as for <see cref="Add"/>. The items before that one have been added.</exception>
    public int AddRange(IEnumerable<T> items)
    {
        ArgumentNullException.ThrowIfNull(items);
        int added = 0;
        foreach (T item in items)
        {
            added += Add(item) ? 1 : 0;
        }

        return added;
    }

    /// <summary>Adds an item if it can be added.</summary>
    /// <param name="item">The item.</param>
    /// <returns>False if the queue is full or has ended, or an item of its key was added before.</returns>
    public bool TryAdd(T item) => Put(item) == Answer.Added;

    /// <summary>Keeps the queue from ending by itself, for code that adds items from outside. A reader then waits for them.</summary>
    /// <returns>What lets the queue end again when it is disposed. It may be disposed more than once.</returns>
    /// <exception cref="InvalidOperationException">The queue has ended.</exception>
    public IDisposable KeepOpen()
    {
        lock (_lock)
        {
            if (_isCompleted)
            {
                throw new InvalidOperationException("The queue has ended.");
            }

            _keptOpen++;
            return new Holder(this);
        }
    }

    /// <summary>Reads the queue by hand. Each item counts as running until the next step, or the end of the enumeration.</summary>
    /// <param name="cancellationToken">Ends a step that waits for an item. What is queued stays for another reader.</param>
    /// <returns>An enumerator, which ends when nothing is queued and nothing runs.</returns>
    /// <exception cref="InvalidOperationException">The queue is already being read. Thrown at the first step.</exception>
    public IAsyncEnumerator<T> GetAsyncEnumerator(CancellationToken cancellationToken = default) => ReadAsync(cancellationToken);

    /// <summary>The queue as a sequence, for what takes no asynchronous one: the runtimes.</summary>
    /// <returns>
    /// A sequence that operators and runtimes know. They read the queue through it, and an item is running until its outcome is final. Other code that
    /// enumerates it, such as LINQ, reads the queue by hand: each item counts as running until the next step, and a step blocks its thread while the queue is
    /// empty and held open.
    /// </returns>
    public IEnumerable<T> AsEnumerable() => new Items(this);

    private async IAsyncEnumerator<T> ReadAsync(CancellationToken cancellationToken)
    {
        BeginReading();
        try
        {
            while (true)
            {
                while (TryTake(out T? item))
                {
                    yield return item;
                    Ended(1);
                }

                if (!await WaitAsync(cancellationToken).ConfigureAwait(false))
                {
                    yield break;
                }
            }
        }
        finally
        {
            EndReading([]);
        }
    }

    private Answer Put(T item)
    {
        lock (_lock)
        {
            if (_isCompleted)
            {
                return Answer.Completed;
            }

            if (_items.Count + _reserved >= Capacity)
            {
                return Answer.Full;
            }

            if (_isNew is not null)
            {
                _reserved++;
            }
        }

        bool? isNew = null;
        TaskCompletionSource<bool>? waiter;
        bool hasItems;
        try
        {
            // The user's code.
            isNew = _isNew is null ? true : _isNew(item);
        }
        finally
        {
            lock (_lock)
            {
                _reserved -= _isNew is null ? 0 : 1;
                if (isNew == true)
                {
                    _items.AddLast(item);
                }

                waiter = TakeWaiterNeedsLock(out hasItems);
            }

            Wake(waiter, hasItems);
        }

        return isNew is null ? Answer.ManyKeys : isNew.Value ? Answer.Added : Answer.Known;
    }

    private sealed class Holder(WorkQueue<T> queue) : IDisposable
    {
        private int _isDisposed;

        public void Dispose()
        {
            if (Interlocked.Exchange(ref _isDisposed, 1) == 0)
            {
                queue.LetEnd();
            }
        }
    }

    // How a run reads the queue. It ends when a reader finds, or waits and learns, that nothing is queued and nothing can add anything.

    private bool IsDoneNeedsLock => _items.Count == 0 && _running == 0 && _reserved == 0 && _keptOpen == 0;

    internal void BeginReading()
    {
        lock (_lock)
        {
            if (_isRead)
            {
                throw new InvalidOperationException("The queue is already being read: one run at a time may read it.");
            }

            _isRead = true;
        }
    }

    /// <summary>The reader ends. Everything that it took has ended, except for what it gives back.</summary>
    internal void EndReading(IReadOnlyCollection<T> neverRun)
    {
        lock (_lock)
        {
            _isRead = false;
            _running = 0;
            _waiter = null;
            foreach (T item in neverRun.Reverse())
            {
                if (_order == WorkQueueOrder.OldestFirst)
                {
                    _items.AddFirst(item);
                }
                else
                {
                    _items.AddLast(item);
                }
            }

            // Also after a stop: otherwise it would depend on whether the reader was waiting when the last item ended.
            _isCompleted |= IsDoneNeedsLock;
        }
    }

    internal bool TryTake([MaybeNullWhen(false)] out T item)
    {
        lock (_lock)
        {
            if ((_order == WorkQueueOrder.OldestFirst ? _items.First : _items.Last) is not { } node)
            {
                item = default;
                return false;
            }

            _items.Remove(node);
            _running++;
            item = node.Value;
            return true;
        }
    }

    /// <summary>Waits until there is something to take.</summary>
    /// <returns>False at the end of the queue.</returns>
    internal ValueTask<bool> WaitAsync(CancellationToken cancellationToken)
    {
        TaskCompletionSource<bool> waiter;
        lock (_lock)
        {
            if (_items.Count > 0 || IsDoneNeedsLock)
            {
                _isCompleted |= _items.Count == 0;
                return new(_items.Count > 0);
            }

            waiter = _waiter = new TaskCompletionSource<bool>();
        }

        return new(waiter.Task.WaitAsync(cancellationToken));
    }

    /// <summary>Items that were taken have ended.</summary>
    internal void Ended(int count)
    {
        TaskCompletionSource<bool>? waiter;
        bool hasItems;
        lock (_lock)
        {
            _running -= count;
            waiter = TakeWaiterNeedsLock(out hasItems);
        }

        Wake(waiter, hasItems);
    }

    /// <summary>Lets a reader go on, on another thread: that of the caller may be inside an item, or anybody's.</summary>
    private static void Wake(TaskCompletionSource<bool>? waiter, bool hasItems)
    {
        if (waiter is null)
        {
            return;
        }

        Waking waking = new(waiter, hasItems);
        if (SpareThreads.IsCurrent)
        {
            // Items that were given up may hold all threads of the pool, and only the reader can find those that are left.
            UrgentWork.Queue(waking);
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(waking, preferLocal: true);
        }
    }

    private void LetEnd()
    {
        TaskCompletionSource<bool>? waiter;
        bool hasItems;
        lock (_lock)
        {
            _keptOpen--;
            waiter = TakeWaiterNeedsLock(out hasItems);
        }

        Wake(waiter, hasItems);
    }

    /// <summary>The reader that waits, if it may go on.</summary>
    private TaskCompletionSource<bool>? TakeWaiterNeedsLock(out bool hasItems)
    {
        hasItems = _items.Count > 0;
        if (_waiter is not { } waiter || !(hasItems || IsDoneNeedsLock))
        {
            return null;
        }

        _isCompleted |= !hasItems;
        _waiter = null;
        return waiter;
    }

    private sealed class Waking(TaskCompletionSource<bool> waiter, bool hasItems) : IThreadPoolWorkItem
    {
        // Nothing else would wake the reader: it waits for just this, and setting it once more does nothing.
        public void Execute() => Unattended.Run(this, static waking => waking.Wake(), static (waking, _) => waking.Wake());

        private void Wake() => waiter.TrySetResult(hasItems);
    }

    Source<T> IReadAsSource<T>.MakeSource() => new ItemReader(this);

    /// <summary>The queue as the source of a run over batches.</summary>
    internal Source<IReadOnlyList<T>> MakeBatches(int batchSize) => new BatchReader(this, batchSize);

    /// <summary>A queue of work in the form that runtimes take. Runs know it and read the queue itself.</summary>
    internal sealed class Items(WorkQueue<T> queue) : IEnumerable<T>, IReadAsSource<T>
    {
        public WorkQueue<T> Queue => queue;

        public Source<T> MakeSource() => new ItemReader(queue);

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

    /// <summary>A queue of work as the source of a run, which tells it when what it took has ended.</summary>
    private abstract class Reader<TItem>(WorkQueue<T> queue) : FilledSource<TItem>, ILanes
    {
        private readonly Lock _lock = new();
        private readonly Dictionary<long, TItem> _taken = [];
        private bool _isOpen;

        protected WorkQueue<T> Queue => queue;

        public void ItemEnded(long index, ItemEnd end = ItemEnd.Succeeded)
        {
            TItem? item;
            lock (_lock)
            {
                if (!_taken.Remove(index, out item))
                {
                    return;
                }
            }

            Tally?.Ended(ItemsOf(item).Count, end);
            queue.Ended(ItemsOf(item).Count);
        }

        public override long Unread => queue.Count;

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
                ValueTask<bool> more = queue.WaitAsync(CancellationToken);
                if (!more.IsCompleted)
                {
                    return Await(more);
                }

                if (!more.GetAwaiter().GetResult())
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
    }

    /// <summary>The items of a queue of work, one by one.</summary>
    private sealed class ItemReader(WorkQueue<T> queue) : Reader<T>(queue)
    {
        protected override bool TryTake([MaybeNullWhen(false)] out T item) => Queue.TryTake(out item);

        protected override IReadOnlyCollection<T> ItemsOf(T item) => [item];
    }

    /// <summary>
    /// Batches of a queue of work: what is queued, up to the size. A batch does not wait to be fuller, because more items may come only from this one.
    /// </summary>
    private sealed class BatchReader(WorkQueue<T> queue, int batchSize) : Reader<IReadOnlyList<T>>(queue)
    {
        public override BatchTally Tally { get; } = new(batchSize);

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
}

/// <summary>Which item of a <see cref="WorkQueue{T}"/> is next.</summary>
public enum WorkQueueOrder
{
    /// <summary>The one that was added first: level by level, breadth first.</summary>
    OldestFirst = 0,

    /// <summary>The one that was added last: depth first, which keeps the queue of a tree short.</summary>
    NewestFirst = 1,
}
