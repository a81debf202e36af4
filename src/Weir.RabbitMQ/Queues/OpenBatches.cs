namespace Weir.RabbitMQ;

/// <summary>What a source has delivered and what has not been settled yet: the answer to "what is acknowledged when".</summary>
/// <remarks>
/// <para>
/// A batch is open from its delivery until it is acknowledged or returned. When it ends, its tag is given out for the acknowledgement, once. A batch that is
/// not open has nothing to acknowledge, so a message is acknowledged at most once, however often its batch is. The link keeps it for some
/// milliseconds, until it has many or nothing else is open (<see cref="ConsumerLink.AcknowledgeAsync"/>), so that RabbitMQ hears of them together.
/// </para>
/// <para>
/// A tag is valid on its link alone. When a link has ended, RabbitMQ delivers the messages again, and the tags of their batches are dropped. If it has ended
/// the link because of its limit for acknowledging (consumer_timeout), this process lives and the items still run: the batch is <em>away</em>. Its message is
/// recognized when it comes again, by this source, and the batch gets its new tag. A batch is also away while a copy of its message is under way, which the
/// source has published because the limit was near. If a batch ends while it is away, its name stays here. When the message comes, a copy is dropped; one that
/// RabbitMQ had taken away runs once more, without being suspect, because another one with its identity may have been published since.
/// </para>
/// <para>
/// In a queue with partitions, a returned batch stays here, and the next read gets it again: nobody else could get its message while this source is the active
/// one.
/// </para>
/// <para>
/// Thread-safe: everything is done under one lock, which is held for no call of the source, of the client or of user code. The properties of a
/// <see cref="RabbitBatch{T}"/> that can be set change under it, too.
/// </para>
/// </remarks>
internal sealed class OpenBatches<T>
{
    // Immutable.
    private readonly Lock _lock = new();
    private readonly TimeProvider _clock;
    private readonly bool _isKeyed;

    // Under the lock.
    private readonly HashSet<RabbitBatch<T>> _open = [];
    private readonly Queue<RabbitBatch<T>> _returned = new();
    private readonly AwayMessages<T> _away = new();
    private readonly DeliveryPace _pace;
    private int _suspects;

    // Atomic: written under the lock, read without it. The reader that finds no room sets the second before it waits, and whoever ends a batch reads it after
    // that and wakes the reader.
    private long _limit;
    private volatile bool _waitsForRoom;

    /// <param name="options">The options of the queue.</param>
    public OpenBatches(RabbitWorkQueueOptions options)
    {
        _clock = options.TimeProvider;
        _isKeyed = options.Partitions > 0;
        _limit = options.ConsumerTimeout.Ticks;
        _pace = new DeliveryPace(_clock, options.Prefetch ?? RabbitWorkQueueOptions.LeastPrefetch);
    }

    /// <summary>How long RabbitMQ waits for a message to be acknowledged, as far as is known: at most what the options say.</summary>
    public TimeSpan Limit => new(Volatile.Read(ref _limit));

    /// <summary>How long a message may wait in the memory of this process before it goes back to the end of the queue.</summary>
    public TimeSpan WaitingLimit => Limit / 4;

    /// <summary>After what time a copy of a message that still runs is published.</summary>
    public TimeSpan RenewalLimit => Limit * 0.9;

    /// <summary>Whether the last look found no room. The next end of a batch may make some.</summary>
    public bool WaitsForRoom => _waitsForRoom;

    /// <summary>How many batches run whose message is to be delivered again, for tests.</summary>
    public int AwayCount
    {
        get
        {
            lock (_lock)
            {
                return _open.Count(static b => b.IsAway);
            }
        }
    }

    // Delivering.

    /// <summary>A batch is delivered.</summary>
    public void Add(RabbitBatch<T> batch)
    {
        lock (_lock)
        {
            AddNeedsLock(batch);
        }
    }

    /// <summary>Delivers the batch again that was returned first; null if there is none.</summary>
    public RabbitBatch<T>? TakeReturned()
    {
        lock (_lock)
        {
            if (_returned.TryDequeue(out RabbitBatch<T>? batch))
            {
                AddNeedsLock(batch);
            }

            return batch;
        }
    }

    /// <summary>Whether something comes before the next message: a returned batch, or the end of a suspect, which runs alone.</summary>
    public bool HasReturnedOrSuspect()
    {
        lock (_lock)
        {
            return _returned.Count > 0 || (!_isKeyed && _suspects > 0);
        }
    }

    public (bool IsIdle, bool HasSuspect) Look()
    {
        lock (_lock)
        {
            return (_open.Count == 0, _suspects > 0);
        }
    }

    /// <summary>Whether one more message would still be acknowledged within half of the limit, at the pace so far.</summary>
    public bool HasRoom()
    {
        lock (_lock)
        {
            // Set before the next acknowledgement can come.
            _waitsForRoom = !_pace.HasRoom(Limit / 2);
            return !_waitsForRoom;
        }
    }

    // Settling.

    /// <summary>Ends batches that are done. Those that are not open are left out.</summary>
    /// <returns>The tags to acknowledge on each link, whether a suspect was among them, and whether nothing is open any more.</returns>
    public (Dictionary<ConsumerLink, List<ulong>> Tags, bool HasSuspect, bool IsLast) End(IReadOnlyList<WorkBatch<T>> batches)
    {
        Dictionary<ConsumerLink, List<ulong>> tags = [];
        bool hasSuspect = false;
        lock (_lock)
        {
            foreach (WorkBatch<T> item in batches)
            {
                if (item is RabbitBatch<T> batch && RemoveNeedsLock(batch))
                {
                    hasSuspect |= batch.IsSuspect;
                    if (batch.IsAway)
                    {
                        continue;
                    }

                    if (batch.Link.ConsumerTimeout is not null)
                    {
                        _away.Add(batch.MessageId, null);
                    }

                    if (!tags.TryGetValue(batch.Link, out List<ulong>? ofLink))
                    {
                        tags.Add(batch.Link, ofLink = new List<ulong>(batches.Count));
                    }

                    ofLink.Add(batch.Tag);
                }
            }

            return (tags, hasSuspect, _open.Count == 0);
        }
    }

    /// <summary>Returns batches.</summary>
    /// <returns>
    /// Those whose messages have to be published again, and then acknowledged; until then they are open. The others are here for the next read, or RabbitMQ
    /// delivers their messages again.
    /// </returns>
    public List<RabbitBatch<T>> Return(IReadOnlyList<WorkBatch<T>> batches)
    {
        List<RabbitBatch<T>> again = [];
        lock (_lock)
        {
            foreach (RabbitBatch<T> batch in batches.OfType<RabbitBatch<T>>().Where(_open.Contains))
            {
                if (!_isKeyed && (batch.Link.IsOpen || batch.HasCopy))
                {
                    again.Add(batch);
                    continue;
                }

                // What RabbitMQ has taken away because of its limit, or with a connection, is delivered again without this.
                RemoveNeedsLock(batch);
                if (batch is { IsAway: false, Link.IsOpen: true })
                {
                    _returned.Enqueue(batch);
                }
                else if (batch is { IsAway: false, Link.ConsumerTimeout: not null })
                {
                    _away.Add(batch.MessageId, null);
                }
            }
        }

        return again;
    }

    /// <summary>
    /// Whether a batch is open and still this source's to settle. If its message was lost with its link, it is delivered again as a whole, and is a new
    /// batch then.
    /// </summary>
    public bool IsHeld(WorkBatch<T> item)
    {
        lock (_lock)
        {
            if (item is not RabbitBatch<T> batch || !_open.Contains(batch))
            {
                return false;
            }

            if (batch.Link.IsOpen || batch.IsAway)
            {
                return true;
            }

            batch.IsStale = true;
            return false;
        }
    }

    /// <summary>The open batches whose tags are of a link.</summary>
    public RabbitBatch<T>[] Of(ConsumerLink link)
    {
        lock (_lock)
        {
            return [.. _open.Where(b => b.Link == link && !b.IsAway)];
        }
    }

    // Below the limit.

    /// <summary>The open batches for which a copy of their message is to be published, because the limit is near.</summary>
    public List<RabbitBatch<T>> Late()
    {
        lock (_lock)
        {
            return
            [
                .. _open.Where(b => b is { IsAway: false, IsUnwritable: false } && b.Link.IsOpen && _clock.GetElapsedTime(b.ReceivedAt) >= RenewalLimit),
            ];
        }
    }

    /// <summary>The items of a batch could not be written for a copy, so no other copy is tried.</summary>
    public void CannotCopy(RabbitBatch<T> batch)
    {
        lock (_lock)
        {
            batch.IsUnwritable = true;
        }
    }

    /// <summary>A copy of a batch is about to be published, under a name: from now on, the batch waits for the tag of the copy.</summary>
    /// <returns>Where the message is to be acknowledged when the copy is published; null if the batch is not open any more.</returns>
    public (ConsumerLink Link, ulong Tag)? BeginCopy(RabbitBatch<T> batch, string copy)
    {
        lock (_lock)
        {
            if (!_open.Contains(batch))
            {
                return null;
            }

            batch.Away = copy;
            _away.Add(copy, batch);
            return (batch.Link, batch.Tag);
        }
    }

    /// <summary>A copy was not published, or it is not known whether it was.</summary>
    /// <returns>
    /// Whether the message is to be acknowledged all the same: the copy has come back, so it is there; or the batch is done, and needs none.
    /// </returns>
    public bool CopyFailed(RabbitBatch<T> batch, string copy)
    {
        lock (_lock)
        {
            if (batch.Away != copy || !_open.Contains(batch))
            {
                return true;
            }

            batch.Away = null;
            _away.TryTake(copy, out _);
            return false;
        }
    }

    // When a link has ended.

    /// <summary>RabbitMQ has ended a link because of its limit: what was delivered on it still runs here, and is delivered again.</summary>
    /// <param name="link">The link.</param>
    /// <param name="limit">The limit that the broker has named.</param>
    /// <param name="waiting">What arrived on the link and was not delivered.</param>
    public void TakenAway(ConsumerLink link, TimeSpan limit, IEnumerable<Delivery> waiting)
    {
        lock (_lock)
        {
            Volatile.Write(ref _limit, Math.Min(limit.Ticks, _limit));
            foreach (RabbitBatch<T> batch in _open.Where(b => b.Link == link && !b.IsAway))
            {
                batch.Away = batch.IsStale ? null : batch.MessageId;
                _away.Add(batch.MessageId, batch.IsStale ? null : batch);
            }

            foreach (Delivery delivery in waiting)
            {
                _away.Add(delivery.MessageId, null);
            }
        }
    }

    /// <summary>There is a new link: what was returned on the one before is delivered on it.</summary>
    public void ForgetReturned()
    {
        lock (_lock)
        {
            _returned.Clear();
        }
    }

    /// <summary>Looks whether a message that is delivered once more is known here.</summary>
    public Recognition Recognize(ConsumerLink link, Delivery delivery)
    {
        lock (_lock)
        {
            string? name = delivery.Copy ?? (delivery.Deliveries > 0 ? delivery.MessageId : null);
            if (name is null || !_away.TryTake(name, out RabbitBatch<T>? batch))
            {
                return Recognition.Unknown;
            }

            if (batch is { IsStale: false } && batch.Away == name && _open.Contains(batch))
            {
                (batch.Link, batch.Tag, batch.ReceivedAt, batch.Away) = (link, delivery.Tag, delivery.ReceivedAt, null);
                return Recognition.Runs;
            }

            return delivery.Copy is null ? Recognition.TakenAway : Recognition.CopyOfDone;
        }
    }

    private void AddNeedsLock(RabbitBatch<T> batch)
    {
        _open.Add(batch);
        _suspects += batch.IsSuspect ? 1 : 0;
        _pace.Begin(batch.Items.Count);
    }

    private bool RemoveNeedsLock(RabbitBatch<T> batch)
    {
        bool isRemoved = _open.Remove(batch);
        if (isRemoved)
        {
            _suspects -= batch.IsSuspect ? 1 : 0;
            _pace.End(batch.Items.Count);
            if (batch.Away is { } name)
            {
                _away.End(name);
            }
        }

        return isRemoved;
    }
}

/// <summary>What a message is to a source that gets it.</summary>
internal enum Recognition
{
    /// <summary>A message like any other.</summary>
    Unknown,

    /// <summary>Its batch still runs here, and has its tag from now on.</summary>
    Runs,

    /// <summary>A copy whose batch is done: it is acknowledged, and not delivered.</summary>
    CopyOfDone,

    /// <summary>
    /// RabbitMQ had taken it away, and its batch is done here or was never delivered. Another one with this identity may have been published since, so it is
    /// not dropped. It runs again, and no process has died.
    /// </summary>
    TakenAway,
}

/// <summary>A message that was delivered, or what could be read of it.</summary>
/// <param name="items">The items.</param>
/// <param name="position">The number of the delivery.</param>
internal sealed class RabbitBatch<T>(IReadOnlyList<WorkItem<T>> items, string position) : WorkBatch<T>(items, position)
{
    /// <summary>Where its tag means something. What can be set changes under the lock of <see cref="OpenBatches{T}"/>.</summary>
    public required ConsumerLink Link { get; set; }

    /// <summary>What RabbitMQ calls the delivery.</summary>
    public required ulong Tag { get; set; }

    public required string? MessageId { get; init; }

    public required long ReceivedAt { get; set; }

    /// <summary>Under which name the message is delivered again although the batch is here; null if the tag is valid for as long as the link.</summary>
    public string? Away { get; set; }

    public bool IsAway => Away is not null;

    /// <summary>Whether it is a copy that is delivered again. RabbitMQ has not taken the message away then.</summary>
    public bool HasCopy => Away is not null && Away != MessageId;

    /// <summary>Whether its items could not be written for a copy, so that no other copy is tried.</summary>
    public bool IsUnwritable { get; set; }

    /// <summary>Whether a failed item was left to the next delivery, so that this must be a new one.</summary>
    public bool IsStale { get; set; }
}

/// <summary>
/// The messages that the broker may deliver once more although their batch is still here: by the name of their copy, or by their own identity if the broker has
/// taken them away. A bounded number, of which the oldest are forgotten. Not thread-safe: used under the lock of <see cref="OpenBatches{T}"/>.
/// </summary>
internal sealed class AwayMessages<T>
{
    private const int Most = 4096;

    // Null for a batch that is done.
    private readonly Dictionary<string, RabbitBatch<T>?> _batches = new(StringComparer.Ordinal);
    private readonly Queue<string> _order = new();

    /// <summary>Adds a message, unless it has no name or its name is known.</summary>
    public void Add(string? name, RabbitBatch<T>? batch)
    {
        if (name is not null && _batches.TryAdd(name, batch))
        {
            _order.Enqueue(name);
            if (_order.Count > Most)
            {
                _batches.Remove(_order.Dequeue());
            }
        }
    }

    /// <summary>The batch of a message is done: when the message comes, nothing of it is here.</summary>
    public void End(string name)
    {
        if (_batches.ContainsKey(name))
        {
            _batches[name] = null;
        }
    }

    /// <summary>Takes a message out: it has come, or will not.</summary>
    /// <returns>False if it is not known.</returns>
    public bool TryTake(string name, out RabbitBatch<T>? batch) => _batches.Remove(name, out batch);
}

/// <summary>
/// Measures how many items are acknowledged in a second, and so says whether one more message would still be acknowledged in time. Not thread-safe: used under
/// the lock of <see cref="OpenBatches{T}"/>.
/// </summary>
/// <param name="clock">The clock.</param>
/// <param name="least">How many items may be open in any case. Items that take very long would bring the measured number below the concurrency.</param>
internal sealed class DeliveryPace(TimeProvider clock, int least)
{
    // Two full messages, so that one slow item does not hold up everything before the first acknowledgement; and one more for each eighth of the time. More
    // would save a host that runs more items at once than this the time of one item, once: 4,096 items of 200 ms at once took 480 ms, and 280 with 4,096 here.
    // But 16 workers would then be late, by half of the broker's 30 minutes, from items of 3.5 s on, and not of 28 s.
    private const int FirstItems = 512;
    private const int MoreItems = 256;
    private const int Steps = 8;
    private const double Memory = 0.9;
    private int _open;
    private long _since;
    private double _items;
    private double _seconds;

    public void Begin(int items)
    {
        if (_open == 0)
        {
            _since = clock.GetTimestamp();
        }

        _open += items;
    }

    public void End(int items)
    {
        _open -= items;
        _items = (_items * Memory) + items;
        _seconds = (_seconds * Memory) + clock.GetElapsedTime(_since).TotalSeconds;
        _since = clock.GetTimestamp();
    }

    /// <summary>Whether the items that are open would be done within a time, at the pace so far. The time since the last one counts too.</summary>
    public bool HasRoom(TimeSpan time)
    {
        double sinceLast = clock.GetElapsedTime(_since).TotalSeconds;
        return _open < Math.Max(least, 1)
            || (_items > 0
                ? _open * (_seconds + sinceLast) < _items * time.TotalSeconds
                : _open < FirstItems + (MoreItems * Math.Floor(Steps * sinceLast / time.TotalSeconds)));
    }
}
