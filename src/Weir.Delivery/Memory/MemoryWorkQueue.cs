using System.Globalization;
using Weir.Core;
using Weir.Resilience;

namespace Weir.Delivery;

/// <summary>A queue in memory, for one process and without durability. It has the same contract as the engines with a server.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>Thread-safe. The items are lost when the process ends.</remarks>
public sealed class MemoryWorkQueue<T> : IWorkQueue<T>
{
    private static readonly TimeSpan RetryPause = TimeSpan.FromMilliseconds(10);

    // Immutable; the dead letters have a lock of their own.
    private readonly Lock _lock = new();
    private readonly MemoryWorkQueueOptions _options;
    private readonly MemoryDeadLetters _deadLetters;
    private readonly IWorkSerializer<T> _serializer;

    // Under the lock. _count is of all items that are not done, _scheduled of those whose delay has not passed; a timer is in _delays until it has.
    private readonly LinkedList<WaitingItem<T>> _waiting = new();
    private readonly WaitLine _readers;
    private readonly WaitLine _writers;
    private readonly HashSet<ITimer> _delays = [];
    private int _count;
    private int _scheduled;
    private bool _isCompleted;
    private bool _isDisposed;

    /// <summary>Creates a queue.</summary>
    /// <param name="name">The name of the queue.</param>
    /// <param name="serializer">Reads the value of a dead letter that is replayed.</param>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentException"><paramref name="name"/> is empty, or a value of <paramref name="options"/> is out of range.</exception>
    public MemoryWorkQueue(string name, IWorkSerializer<T> serializer, MemoryWorkQueueOptions? options = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        ArgumentNullException.ThrowIfNull(serializer);
        _options = options ?? new MemoryWorkQueueOptions();
        _options.Validate();
        Name = name;
        _serializer = serializer;
        _readers = new WaitLine(_lock);
        _writers = new WaitLine(_lock);
        _deadLetters = new MemoryDeadLetters(_options.MaxDeadLetters, ReplayAsync);
    }

    /// <inheritdoc/>
    public string Name { get; }

    /// <inheritdoc/>
    public IWorkSerializer<T> Serializer => _serializer;

    /// <inheritdoc/>
    public IDeadLetters DeadLetters => _deadLetters;

    /// <summary>The number of items that are not done: waiting, being processed, or waiting for another attempt.</summary>
    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _count;
            }
        }
    }

    /// <inheritdoc/>
    string IWorkStatistics.MessagingSystem => System;

    internal const string System = "weir_memory";

    /// <inheritdoc/>
    /// <remarks>Counts of one moment. It never waits.</remarks>
    public ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default)
    {
        lock (_lock)
        {
            return new ValueTask<WorkStatistics>(new WorkStatistics
            {
                Waiting = _waiting.Count,
                Scheduled = _scheduled,
                InFlight = _count - _waiting.Count - _scheduled,
                OldestAge = _waiting.First is { } first ? _options.TimeProvider.GetElapsedTime(first.Value.Since) : TimeSpan.Zero,
                DeadLetters = _deadLetters.Count,
            });
        }
    }

    /// <inheritdoc/>
    public Task SetupAsync(CancellationToken cancellationToken = default) => Task.CompletedTask;

    /// <inheritdoc/>
    public ValueTask<IWorkSink<T>> OpenSinkAsync(CancellationToken cancellationToken = default) => new(new MemoryWorkSink<T>(this));

    /// <inheritdoc/>
    public ValueTask<IWorkSource<T>> OpenSourceAsync(CancellationToken cancellationToken = default) => new(new MemoryWorkSource<T>(this));

    /// <summary>Marks the queue as complete: nothing more can be published, and the sources end when all items are done.</summary>
    public void Complete()
    {
        lock (_lock)
        {
            _isCompleted = true;
            _readers.WakeAllNeedsLock();
            _writers.WakeAllNeedsLock();
        }
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        lock (_lock)
        {
            _isDisposed = true;
            foreach (ITimer delay in _delays)
            {
                delay.Dispose();
            }

            _delays.Clear();
            _readers.WakeAllNeedsLock();
            _writers.WakeAllNeedsLock();
        }

        return default;
    }

    /// <summary>Adds items in order, and waits for room.</summary>
    internal async ValueTask PublishAsync(IReadOnlyList<WorkItem<T>> items, CancellationToken cancellationToken)
    {
        int published = 0;
        long now = _options.TimeProvider.GetTimestamp();
        Dictionary<string, string>? trace = TraceContext.Current();
        while (published < items.Count)
        {
            LinkedListNode<TaskCompletionSource>? wait = null;
            lock (_lock)
            {
                ObjectDisposedException.ThrowIf(_isDisposed, this);
                if (_isCompleted)
                {
                    throw new InvalidOperationException($"The queue {Name} has been completed: nothing more can be published.");
                }

                for (; published < items.Count && _count < _options.Capacity; published++, _count++)
                {
                    _waiting.AddLast(new WaitingItem<T>(trace is null ? items[published] : items[published].In(trace), now));
                }

                _readers.WakeOneNeedsLock();
                if (published < items.Count)
                {
                    wait = _writers.AddNeedsLock();
                }
                else if (_count < _options.Capacity)
                {
                    _writers.WakeOneNeedsLock();
                }
            }

            if (wait is not null)
            {
                await _writers.WaitAsync(wait, cancellationToken).ConfigureAwait(false);
                now = _options.TimeProvider.GetTimestamp();
            }
        }
    }

    /// <summary>Takes waiting items; null at the end.</summary>
    internal async ValueTask<List<WaitingItem<T>>?> TakeAsync(CancellationToken cancellationToken)
    {
        // A reader that is woken takes its items even if it was cancelled meanwhile: no other reader was woken for them.
        cancellationToken.ThrowIfCancellationRequested();
        while (true)
        {
            LinkedListNode<TaskCompletionSource> wait;
            lock (_lock)
            {
                if (_waiting.Count > 0)
                {
                    List<WaitingItem<T>> items = new(Math.Min(_waiting.Count, _options.MaxItemsPerBatch));
                    while (items.Count < _options.MaxItemsPerBatch && _waiting.First is { } first)
                    {
                        items.Add(first.Value);
                        _waiting.RemoveFirst();
                    }

                    if (_waiting.Count > 0)
                    {
                        _readers.WakeOneNeedsLock();
                    }

                    return items;
                }

                if (_isDisposed || (_isCompleted && _count == 0))
                {
                    return null;
                }

                wait = _readers.AddNeedsLock();
            }

            await _readers.WaitAsync(wait, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Removes items that are done.</summary>
    internal void Remove(int count)
    {
        lock (_lock)
        {
            _count -= count;
            _writers.WakeOneNeedsLock();
            if (_isCompleted && _count == 0)
            {
                _readers.WakeAllNeedsLock();
            }
        }
    }

    /// <summary>Returns items to the front, in order.</summary>
    internal void PutBack(IReadOnlyList<WaitingItem<T>> items)
    {
        lock (_lock)
        {
            for (int i = items.Count - 1; i >= 0; i--)
            {
                _waiting.AddFirst(items[i]);
            }

            _readers.WakeOneNeedsLock();
        }
    }

    /// <summary>Stores items for another attempt, after a delay. They count meanwhile.</summary>
    internal void Redeliver(IReadOnlyList<WorkItem<T>> items, TimeSpan delay)
    {
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            _count += items.Count;
            if (delay == TimeSpan.Zero)
            {
                AddLastNeedsLock(items);
                return;
            }

            ITimer? timer = null;
            long began = _options.TimeProvider.GetTimestamp();
            timer = _options.TimeProvider.CreateTimer(
                _ => Unattended.Run(
                    timer!, timer => EndDelay(timer, items, began, delay), static (timer, _) => timer.Change(RetryPause, Timeout.InfiniteTimeSpan)),
                null,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan);
            _delays.Add(timer);
            _scheduled += items.Count;
            timer.Change(TimerDelay.RoundUp(delay), Timeout.InfiniteTimeSpan);
        }
    }

    private void EndDelay(ITimer timer, IReadOnlyList<WorkItem<T>> items, long began, TimeSpan delay)
    {
        lock (_lock)
        {
            if (!_delays.Contains(timer))
            {
                return;
            }

            // No timer can be set to more than 49 days.
            long now = _options.TimeProvider.GetTimestamp();
            if (delay - _options.TimeProvider.GetElapsedTime(began, now) is var left && left > TimeSpan.Zero)
            {
                timer.Change(TimerDelay.RoundUp(left), Timeout.InfiniteTimeSpan);
                return;
            }

            // Memory is allocated first: if that fails, nothing has changed, and the timer tries again.
            LinkedListNode<WaitingItem<T>>[] nodes = [.. items.Select(item => new LinkedListNode<WaitingItem<T>>(new WaitingItem<T>(item, now)))];
            _delays.Remove(timer);
            _scheduled -= items.Count;
            timer.Dispose();
            foreach (LinkedListNode<WaitingItem<T>> node in nodes)
            {
                _waiting.AddLast(node);
            }

            _readers.WakeOneNeedsLock();
        }
    }

    private void AddLastNeedsLock(IReadOnlyList<WorkItem<T>> items)
    {
        long now = _options.TimeProvider.GetTimestamp();
        foreach (WorkItem<T> item in items)
        {
            _waiting.AddLast(new WaitingItem<T>(item, now));
        }

        _readers.WakeOneNeedsLock();
    }

    private ValueTask ReplayAsync(DeadLetter letter, CancellationToken cancellationToken)
    {
        T value = _serializer.Read(letter.Payload.Span);
        return PublishAsync([new WorkItem<T>(WorkId.Parse(letter.Id), value, letter.Key, 1, letter.Headers)], cancellationToken);
    }
}

/// <summary>A consuming end of a queue in memory. When it is disposed, items that were read but not acknowledged go back to the queue.</summary>
/// <remarks>Thread-safe. Its lock and that of the queue are never held together.</remarks>
internal sealed class MemoryWorkSource<T>(MemoryWorkQueue<T> queue) : IWorkSource<T>, IRedelivery<T>
{
    private readonly Lock _lock = new();

    // Under the lock.
    private readonly Dictionary<WorkBatch<T>, (long Number, List<WaitingItem<T>> Items)> _open = [];
    private long _lastBatch;

    public string MessagingSystem => MemoryWorkQueue<T>.System;

    public string Name => queue.Name;

    public IWorkSerializer<T> Serializer => queue.Serializer;

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<T> Redelivery => this;

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        if (await queue.TakeAsync(cancellationToken).ConfigureAwait(false) is not { } items)
        {
            return null;
        }

        lock (_lock)
        {
            var batch = new WorkBatch<T>([.. items.Select(static i => i.Item)], (++_lastBatch).ToString(CultureInfo.InvariantCulture));
            _open.Add(batch, (_lastBatch, items));
            return batch;
        }
    }

    public ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        foreach (List<WaitingItem<T>> items in Close(batches))
        {
            queue.Remove(items.Count);
        }

        return default;
    }

    public ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        List<List<WaitingItem<T>>> closed = Close(batches);
        for (int i = closed.Count - 1; i >= 0; i--)
        {
            // In reverse, so that the first batch ends up in front.
            queue.PutBack(closed[i]);
        }

        return default;
    }

    public ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        queue.Redeliver(items, delay);
        return default;
    }

    public ValueTask DisposeAsync()
    {
        WorkBatch<T>[] open;
        lock (_lock)
        {
            open = [.. _open.OrderBy(static o => o.Value.Number).Select(static o => o.Key)];
        }

        return ReturnAsync(open, CancellationToken.None);
    }

    private List<List<WaitingItem<T>>> Close(IReadOnlyList<WorkBatch<T>> batches)
    {
        ArgumentNullException.ThrowIfNull(batches);
        lock (_lock)
        {
            // A batch that is no longer open was returned or acknowledged before.
            List<List<WaitingItem<T>>> closed = [];
            foreach (WorkBatch<T> batch in batches)
            {
                if (_open.Remove(batch, out (long Number, List<WaitingItem<T>> Items) open))
                {
                    closed.Add(open.Items);
                }
            }

            return closed;
        }
    }
}

/// <summary>The publishing end of a queue in memory. A call waits while the queue is full.</summary>
internal sealed class MemoryWorkSink<T>(MemoryWorkQueue<T> queue) : IWorkSink<T>
{
    public ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        return queue.PublishAsync(items, cancellationToken);
    }

    public ValueTask DisposeAsync() => default;
}

/// <summary>
/// Waiters in a line, of which one at a time is woken. A waiter that leaves something over wakes the next, so a change costs the same however many wait.
/// Guarded by the lock of its owner.
/// </summary>
internal sealed class WaitLine(Lock owner)
{
    private readonly LinkedList<TaskCompletionSource> _waits = new();

    /// <summary>Begins a wait, at the end of the line.</summary>
    public LinkedListNode<TaskCompletionSource> AddNeedsLock() =>
        _waits.AddLast(new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));

    public void WakeOneNeedsLock()
    {
        if (_waits.First is { } first)
        {
            _waits.RemoveFirst();
            first.Value.TrySetResult();
        }
    }

    public void WakeAllNeedsLock()
    {
        foreach (TaskCompletionSource wait in _waits)
        {
            wait.TrySetResult();
        }

        _waits.Clear();
    }

    /// <summary>Ends a wait. Takes the lock.</summary>
    public async ValueTask WaitAsync(LinkedListNode<TaskCompletionSource> wait, CancellationToken cancellationToken)
    {
        try
        {
            await wait.Value.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            lock (owner)
            {
                if (wait.List is null)
                {
                    // It was woken but does not take anything, so the next one is woken.
                    WakeOneNeedsLock();
                }
                else
                {
                    _waits.Remove(wait);
                }
            }

            throw;
        }
    }
}

/// <summary>An item that waits, and since when it could be taken.</summary>
/// <param name="Item">The item.</param>
/// <param name="Since">As the clock of the queue counts.</param>
internal readonly record struct WaitingItem<T>(WorkItem<T> Item, long Since);

/// <summary>The options of a <see cref="MemoryWorkQueue{T}"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record MemoryWorkQueueOptions
{
    /// <summary>
    /// The maximum number of items that are not done: waiting, being processed, or waiting for another attempt. When the queue is full, publishing waits.
    /// </summary>
    /// <value>At least 1. The default is 65,536.</value>
    public int Capacity { get; init; } = 65_536;

    /// <summary>The maximum number of dead letters. Beyond it, the oldest are dropped.</summary>
    /// <value>At least 1. The default is 10,000.</value>
    public int MaxDeadLetters { get; init; } = 10_000;

    /// <summary>The maximum number of items in a batch.</summary>
    /// <value>At least 1. The default is 256.</value>
    public int MaxItemsPerBatch { get; init; } = 256;

    /// <summary>The clock for the delays between attempts.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.AtLeastOne(Capacity, nameof(Capacity));
        Require.AtLeastOne(MaxDeadLetters, nameof(MaxDeadLetters));
        Require.AtLeastOne(MaxItemsPerBatch, nameof(MaxItemsPerBatch));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}
