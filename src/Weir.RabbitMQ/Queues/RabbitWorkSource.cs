using System.Globalization;
using Weir.Core;
using Weir.Resilience;

namespace Weir.RabbitMQ;

/// <summary>
/// A consuming end of a queue. A message that was delivered before is split, and its halves go to a queue of suspects. The source takes one suspect at a time,
/// while it has nothing else, so that another crash identifies its cause. With partitions, such messages stay where they are, to keep the order.
/// </summary>
internal sealed class RabbitWorkSource<T> : IWorkSource<T>, IRedelivery<T>
{
    private static readonly TimeSpan SuspectInterval = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan ReleaseLimit = TimeSpan.FromSeconds(10);

    private readonly RabbitWorkQueueOptions _options;
    private readonly QueueNames _names;
    private readonly Broker _broker;
    private readonly Topology _topology;
    private readonly Publisher _publisher;
    private readonly Action<RabbitWorkSource<T>> _ended;
    private readonly bool _isKeyed;
    private readonly CancellationTokenSource _stop = new();
    private readonly Lock _lock = new();
    private readonly DeliveryPace _pace;
    private readonly HashSet<RabbitBatch<T>> _open = [];

    // With partitions, a returned batch stays here, because no other consumer could get it while this source exists.
    private readonly Queue<RabbitBatch<T>> _returned = new();
    private readonly Queue<Delivery> _ready = new();
    private ConsumerLink? _link;
    private ITimer? _timer;
    private Task<RabbitBatch<T>?>? _taking;
    private TaskCompletionSource? _starting;
    private Delivery? _suspect;
    private long _lastBatch;
    private int _openSuspects;
    private bool _isDisposed;

    // Whether to ask for suspects, whether there are some, and whether the next batch is of the other messages all the same: the two take turns.
    private volatile bool _asksForSuspects;
    private volatile bool _hasSuspects;
    private bool _othersFirst;

    public RabbitWorkSource(
        string name,
        IWorkSerializer<T> serializer,
        RabbitWorkQueueOptions options,
        QueueNames names,
        Broker broker,
        Topology topology,
        Publisher publisher,
        Action<RabbitWorkSource<T>> ended)
    {
        Name = name;
        Serializer = serializer;
        _options = options;
        _names = names;
        _broker = broker;
        _topology = topology;
        _publisher = publisher;
        _ended = ended;
        _isKeyed = options.Partitions > 0;
        _limit = options.ConsumerTimeout;
        _pace = new DeliveryPace(options.TimeProvider, options.Prefetch ?? RabbitWorkQueueOptions.LeastPrefetch);
        _asksForSuspects = !_isKeyed;
    }

    public string MessagingSystem => "rabbitmq";

    public string Name { get; }

    public IWorkSerializer<T> Serializer { get; }

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<T>? Redelivery => _isKeyed ? null : this;

    public async ValueTask StartAsync(CancellationToken cancellationToken)
    {
        CancellationTokenSource either;
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _stop.Token);
            _starting = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        try
        {
            using (either)
            {
                await LinkAsync(either.Token).ConfigureAwait(false);
            }

            if (!_isKeyed)
            {
                _timer = _options.TimeProvider.CreateTimer(
                    static source => Unattended.Run((RabbitWorkSource<T>)source!, static source => source.LookAround()),
                    this,
                    SuspectInterval,
                    SuspectInterval);
            }
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            throw;
        }
        finally
        {
            // Who disposes of the source meanwhile closes what was opened.
            _starting.SetResult();
        }

        ObjectDisposedException.ThrowIf(_isDisposed, this);
    }

    public async ValueTask<WorkBatch<T>?> ReadAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        ThrowNotice();
        if (_taking is null && TryTake() is { } ready)
        {
            return ready;
        }

        // A caller that stops waiting does not stop what is under way: the next call gets what it takes.
        _taking ??= TakeAsync(_stop.Token);
        try
        {
            await _taking.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            throw;
        }
        catch (Exception e)
        {
            _taking = null;
            ObjectDisposedException.ThrowIf(e is OperationCanceledException && _stop.IsCancellationRequested, this);
            throw;
        }

        RabbitBatch<T>? batch = await _taking.ConfigureAwait(false);
        _taking = null;
        return batch;
    }

    public async ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batches);
        Task acknowledging = AcknowledgeAsync(batches);
        await acknowledging.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    public async ValueTask ReturnAsync(IReadOnlyList<WorkBatch<T>> batches, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batches);
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
                RemoveOpenNeedsLock(batch);
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

        Link()?.Nudge();

        // A copy that comes after this is dropped, because its batch is not open any more.
        await _publisher.PublishAsync(again.SelectMany(Again), cancellationToken).ConfigureAwait(false);
        await AcknowledgeAsync(again).ConfigureAwait(false);
    }

    public async ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batch);
        ArgumentNullException.ThrowIfNull(items);

        // The message of a lost connection is delivered again as a whole.
        if (Open([batch]).Count > 0)
        {
            string route = _names.RetryOf(delay);
            await _publisher.PublishAsync(Messages().Split(items, _ => route, headers: null, isNew: false), cancellationToken).ConfigureAwait(false);
        }
    }

    public async ValueTask DisposeAsync()
    {
        lock (_lock)
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
        }

        _ended(this);
        await _stop.CancelAsync().ConfigureAwait(false);
        await (_starting?.Task ?? Task.CompletedTask).ConfigureAwait(false);
        await (_taking ?? Task.CompletedTask).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (_timer is not null)
        {
            await _timer.DisposeAsync().ConfigureAwait(false);
        }

        if (Link() is { } link)
        {
            using var limit = new CancellationTokenSource(ReleaseLimit, _options.TimeProvider);
            try
            {
                await link.AcknowledgeAsync([], isLast: true).AsTask().WaitAsync(limit.Token).ConfigureAwait(false);
                if (link.IsOpen && !_isKeyed)
                {
                    // The client waits for an answer although its token is cancelled.
                    await GiveBackAsync(link, limit.Token).AsTask().WaitAsync(limit.Token).ConfigureAwait(false);
                }
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                // When a connection ends, RabbitMQ takes back what it had, and counts that as a delivery.
            }

            await link.CloseAsync(limit.Token).ConfigureAwait(false);
        }

        _stop.Dispose();
    }

    /// <summary>Publishes again what is not processed here, so that it does not count as delivered and lost.</summary>
    private async ValueTask GiveBackAsync(ConsumerLink link, CancellationToken cancellationToken)
    {
        await link.StopAsync(cancellationToken).ConfigureAwait(false);
        link.Drain(_ready);
        RabbitBatch<T>[] open;
        lock (_lock)
        {
            open = [.. _open.Where(b => b.Link == link && !b.IsAway)];
        }

        List<Outgoing> messages = [.. open.SelectMany(Again)];
        List<ulong> tags = [];
        while (_ready.TryDequeue(out Delivery? delivery))
        {
            if (delivery.Deliveries == 0)
            {
                messages.Add(delivery.Again(_names.Work[0], delivery.MessageId ?? ""));
                tags.Add(delivery.Tag);
            }
        }

        if (_suspect is { } suspect)
        {
            Outgoing message = suspect.Again(_names.Suspects, suspect.MessageId ?? "");
            AddCrashes(message, Crashes(suspect));
            messages.Add(message);
            tags.Add(suspect.Tag);
        }

        await _publisher.PublishAsync(messages, cancellationToken).ConfigureAwait(false);
        await AcknowledgeAsync(open).ConfigureAwait(false);
        await link.AcknowledgeAsync(tags, isLast: true).ConfigureAwait(false);
    }

    private static void AddCrashes(Outgoing message, int crashes)
    {
        if (crashes > 0)
        {
            message.SetHeader(Delivery.CrashesHeader, crashes);
        }
    }

    private static int Crashes(Delivery suspect) => suspect.PastCrashes + (int)Math.Min(suspect.Deliveries, int.MaxValue / 2);

    private ItemMessages<T> Messages() => new(Serializer, _options, _publisher.Buffers);

    // A suspect stays one.
    private IEnumerable<Outgoing> Again(RabbitBatch<T> batch)
    {
        string route = batch.IsSuspect ? _names.Suspects : _names.Work[0];
        foreach (Outgoing message in Messages().Split(batch.Items, _ => route, headers: null, isNew: false))
        {
            AddCrashes(message, batch.Crashes);
            yield return message;
        }
    }

    private async Task AcknowledgeAsync(IReadOnlyList<WorkBatch<T>> batches)
    {
        Dictionary<ConsumerLink, List<ulong>> tags = [];
        bool hasSuspect = false;
        bool isLast;
        lock (_lock)
        {
            foreach (WorkBatch<T> item in batches)
            {
                if (item is RabbitBatch<T> batch && RemoveOpenNeedsLock(batch))
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

            isLast = _open.Count == 0;
        }

        foreach ((ConsumerLink link, List<ulong> ofLink) in tags)
        {
            await link.AcknowledgeAsync(ofLink, isLast).ConfigureAwait(false);
        }

        if (hasSuspect || _hasSuspects || _waitsForRoom)
        {
            Link()?.Nudge();
        }
    }

    /// <summary>The batches that are open and whose tags are still valid.</summary>
    private List<RabbitBatch<T>> Open(IReadOnlyList<WorkBatch<T>> batches)
    {
        lock (_lock)
        {
            List<RabbitBatch<T>> open = [];
            foreach (WorkBatch<T> item in batches)
            {
                if (item is not RabbitBatch<T> batch || !_open.Contains(batch))
                {
                    continue;
                }

                if (batch.Link.IsOpen || batch.IsAway)
                {
                    open.Add(batch);
                }
                else
                {
                    batch.IsStale = true;
                }
            }

            return open;
        }
    }

    private void AddOpenNeedsLock(RabbitBatch<T> batch)
    {
        _open.Add(batch);
        _openSuspects += batch.IsSuspect ? 1 : 0;
        _pace.Begin(batch.Items.Count);
    }

    private bool RemoveOpenNeedsLock(RabbitBatch<T> batch)
    {
        bool isRemoved = _open.Remove(batch);
        if (isRemoved)
        {
            _openSuspects -= batch.IsSuspect ? 1 : 0;
            _pace.End(batch.Items.Count);
            if (batch.Away is { } name)
            {
                _away.End(name);
            }
        }

        return isRemoved;
    }

    internal ConsumerLink? Link()
    {
        lock (_lock)
        {
            return _link;
        }
    }

    private void LookAround()
    {
        _asksForSuspects = true;
        Link()?.Nudge();
        _ = RenewAsync();
    }

    // Taking messages, and making batches of them. All of this runs for one reader at a time.

    /// <summary>A batch of what has arrived and only needs to be read; null if there is more to do, or something to wait for.</summary>
    private RabbitBatch<T>? TryTake()
    {
        if (Link() is not { IsOpen: true } link || _asksForSuspects || _hasSuspects)
        {
            return null;
        }

        if (_ready.Count == 0)
        {
            link.Drain(_ready);
        }

        if (!_ready.TryPeek(out Delivery? delivery) || delivery.Deliveries > 0 || delivery.Copy is not null || HasReturnedOrSuspect() || IsStale(delivery)
            || (!_isKeyed && !HasRoom()) || Decode(delivery) is not { Letters: null } decoded)
        {
            return null;
        }

        _ready.Dequeue();
        return Deliver(link, delivery, decoded.Items, isSuspect: false, crashes: 0);
    }

    private async Task<RabbitBatch<T>?> TakeAsync(CancellationToken stop)
    {
        while (true)
        {
            stop.ThrowIfCancellationRequested();
            ConsumerLink link = await LinkAsync(stop).ConfigureAwait(false);
            ThrowNotice();
            link.Drain(_ready);
            if (TakeReturned() is { } returned)
            {
                return returned;
            }

            if (_asksForSuspects)
            {
                _asksForSuspects = false;
                _hasSuspects |= await link.CountAsync(_names.Suspects, stop).ConfigureAwait(false) > 0;
            }

            await GiveBackStaleAsync(link, stop).ConfigureAwait(false);
            (bool isIdle, bool hasOpenSuspect) = LookAtOpen();
            if (!hasOpenSuspect || _isKeyed)
            {
                if (_hasSuspects && !(_othersFirst && _ready.Count > 0))
                {
                    // A suspect starts only when nothing else is under way.
                    if (!isIdle)
                    {
                        await link.WaitAsync(stop).ConfigureAwait(false);
                        continue;
                    }

                    if (await TakeSuspectAsync(link, stop).ConfigureAwait(false) is { } suspect)
                    {
                        _othersFirst = true;
                        return suspect;
                    }

                    continue;
                }

                if (_ready.TryPeek(out Delivery? delivery) && await IsHereAsync(link, delivery).ConfigureAwait(false))
                {
                    _ready.Dequeue();
                    continue;
                }

                if (delivery is not null && (_isKeyed || delivery.Deliveries > 0 || HasRoom()))
                {
                    _othersFirst = false;
                    if (await TakeAsync(link, delivery).ConfigureAwait(false) is { } batch)
                    {
                        return batch;
                    }

                    continue;
                }
            }

            await link.WaitAsync(stop).ConfigureAwait(false);
        }
    }

    /// <summary>The link, or a new one if it has ended. RabbitMQ delivers again what the old one had delivered.</summary>
    private async ValueTask<ConsumerLink> LinkAsync(CancellationToken cancellationToken)
    {
        if (Link() is { IsOpen: true } open)
        {
            return open;
        }

        if (Link() is { } ended)
        {
            ended.Drain(_ready);
            TakeLeave(ended);
        }

        ConsumerLink link = await ConsumerLink.OpenAsync(
            _broker, _topology, _names.Work, _options, cancellationToken).ConfigureAwait(false);
        while (_ready.TryDequeue(out Delivery? stale))
        {
            stale.Release();
        }

        _suspect?.Release();
        _suspect = null;
        lock (_lock)
        {
            _returned.Clear();
            _link = link;
        }

        return link;
    }

    private async ValueTask<RabbitBatch<T>?> TakeAsync(ConsumerLink link, Delivery delivery)
    {
        if (delivery.Deliveries > 0 && !_isKeyed && Unreadable.Find(delivery.Body, _options) is null)
        {
            await _publisher.PublishAsync(Halves(delivery), _stop.Token).ConfigureAwait(false);
            _hasSuspects = true;
            await DropAsync(link, _ready.Dequeue()).ConfigureAwait(false);
            return null;
        }

        if (Decode(delivery) is not { } decoded)
        {
            // RabbitMQ keeps the message as it is. Listing the dead letters says what is wrong with it.
            await link.RejectAsync(_ready.Dequeue().Tag).ConfigureAwait(false);
            delivery.Release();
            return null;
        }

        await BuryAsync(decoded).ConfigureAwait(false);
        _ready.Dequeue();
        if (decoded.Items.Count == 0)
        {
            await DropAsync(link, delivery).ConfigureAwait(false);
            return null;
        }

        return Deliver(link, delivery, decoded.Items, isSuspect: delivery.Deliveries > 0, crashes: 0);
    }

    private async ValueTask<RabbitBatch<T>?> TakeSuspectAsync(ConsumerLink link, CancellationToken stop)
    {
        // Continues with what was taken and could not be handed over.
        _suspect ??= await link.GetAsync(_names.Suspects, stop).ConfigureAwait(false);
        if (_suspect is not null && await IsHereAsync(link, _suspect).ConfigureAwait(false))
        {
            _suspect = null;
            return null;
        }

        if (_suspect is not { } suspect)
        {
            _hasSuspects = false;
            return null;
        }

        if (Unreadable.Find(suspect.Body, _options) is not null)
        {
            _suspect = null;
            await link.RejectAsync(suspect.Tag).ConfigureAwait(false);
            suspect.Release();
            return null;
        }

        if (suspect.Deliveries > 0 && new EnvelopeReader(suspect.Body).Count > 1)
        {
            await _publisher.PublishAsync(Halves(suspect), stop).ConfigureAwait(false);
            _suspect = null;
            await DropAsync(link, suspect).ConfigureAwait(false);
            return null;
        }

        Decoded decoded = Decode(suspect)!;
        await BuryAsync(decoded).ConfigureAwait(false);
        _suspect = null;
        if (decoded.Items.Count == 0)
        {
            await DropAsync(link, suspect).ConfigureAwait(false);
            return null;
        }

        return Deliver(link, suspect, decoded.Items, isSuspect: true, crashes: decoded.Items.Count > 1 ? 0 : Crashes(suspect));
    }

    private RabbitBatch<T> Deliver(ConsumerLink link, Delivery delivery, IReadOnlyList<WorkItem<T>> items, bool isSuspect, int crashes)
    {
        string position = (++_lastBatch).ToString(CultureInfo.InvariantCulture);
        var batch = new RabbitBatch<T>(items, position)
        {
            Link = link,
            Tag = delivery.Tag,
            MessageId = delivery.MessageId,
            ReceivedAt = delivery.ReceivedAt,
            IsSuspect = isSuspect,
            Crashes = crashes,
        };
        delivery.Release();
        lock (_lock)
        {
            AddOpenNeedsLock(batch);
        }

        return batch;
    }

    /// <summary>Splits a message into two; a message of one item stays as it is.</summary>
    private List<Outgoing> Halves(Delivery delivery)
    {
        List<Outgoing> halves = new(2);
        var writer = new EnvelopeWriter(_publisher.Buffers);
        var reader = new EnvelopeReader(delivery.Body);
        int first = (reader.Count + 1) / 2;
        while (reader.Read())
        {
            writer.Add(reader.Id, reader.Key, reader.Attempt, reader.Headers, reader.Value);
            if (writer.Count == first && halves.Count == 0)
            {
                halves.Add(Outgoing.Of(writer, _names.Suspects, delivery.TraceHeaders()));
            }
        }

        if (writer.Count > 0)
        {
            halves.Add(Outgoing.Of(writer, _names.Suspects, delivery.TraceHeaders()));
        }

        return halves;
    }

    private static async ValueTask DropAsync(ConsumerLink link, Delivery delivery)
    {
        await link.AcknowledgeAsync([delivery.Tag], isLast: true).ConfigureAwait(false);
        delivery.Release();
    }

    private async ValueTask BuryAsync(Decoded decoded)
    {
        if (decoded.Letters is { } letters)
        {
            await _publisher.PublishAsync(letters.Select(l => Outgoing.Of(l, _names.Dead)), _stop.Token).ConfigureAwait(false);
        }
    }

    /// <returns>Null if nothing of the message can be read.</returns>
    private Decoded? Decode(Delivery delivery)
    {
        if (delivery.Length > _options.LargestMessage)
        {
            return null;
        }

        Dictionary<string, string>? trace = MessageTrace.Read(delivery.Headers);
        try
        {
            var reader = new EnvelopeReader(delivery.Body);
            var decoded = new Decoded(reader.Count);
            while (reader.Read())
            {
                Add(ref reader, trace, decoded);
            }

            return decoded;
        }
        catch (FormatException)
        {
            return null;
        }
    }

    private void Add(ref EnvelopeReader reader, Dictionary<string, string>? trace, Decoded decoded)
    {
        WorkId id = reader.Id;
        IReadOnlyDictionary<string, string>? headers = TraceContext.Merge(reader.Headers, trace);
        DeadLetterReason reason = DeadLetterReason.TooLarge;
        string error = "";
        if (reader.Value.Length > _options.MaxItemBytes)
        {
            error = string.Create(
                CultureInfo.InvariantCulture,
                $"The value has {reader.Value.Length:N0} bytes, and the queue takes at most {_options.MaxItemBytes:N0} (MaxItemBytes).");
        }
        else
        {
            try
            {
                decoded.Items.Add(new WorkItem<T>(id, Serializer.Read(reader.Value), reader.Key, reader.Attempt, headers));
                return;
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                (reason, error) = (DeadLetterReason.Undecodable, e.ToString());
            }
        }

        (decoded.Letters ??= []).Add(DeadLetterMessage.Of(new DeadLetter
        {
            Id = id.ToString(),
            Source = Name,
            Reason = reason,
            Error = error,
            Attempts = reader.Attempt,
            Time = _options.TimeProvider.GetUtcNow(),
            Key = reader.Key,
            Payload = reader.Value.ToArray(),
            Headers = headers,
        }));
    }

    private bool HasReturnedOrSuspect()
    {
        lock (_lock)
        {
            return _returned.Count > 0 || (!_isKeyed && _openSuspects > 0);
        }
    }

    private (bool IsIdle, bool HasOpenSuspect) LookAtOpen()
    {
        lock (_lock)
        {
            return (_open.Count == 0, _openSuspects > 0);
        }
    }

    private RabbitBatch<T>? TakeReturned()
    {
        lock (_lock)
        {
            if (_returned.TryDequeue(out RabbitBatch<T>? batch))
            {
                AddOpenNeedsLock(batch);
            }

            return batch;
        }
    }

    /// <summary>The items that could be read of a message, and dead letters for the others.</summary>
    private sealed class Decoded(int count)
    {
        public List<WorkItem<T>> Items { get; } = new(count);

        public List<DeadLetterMessage>? Letters { get; set; }
    }

    // What keeps messages below the broker's limit for acknowledging them, and what tells its end of a channel for that reason from the death of a process.

    // Those that nobody has heard: a source that nobody reads keeps the last of them.
    private const int MostNotices = 16;

    private readonly AwayMessages<T> _away = new();
    private readonly Queue<TimeoutException> _notices = new();
    private ConsumerLink? _left;
    private TimeSpan _limit;
    private int _isRenewing;
    private volatile bool _waitsForRoom;

    /// <summary>How long a message may wait in the memory of this process before it goes back to the end of the queue.</summary>
    private TimeSpan WaitingLimit => _limit / 4;

    private TimeSpan RunningLimit => _limit / 2;

    private TimeSpan RenewalLimit => _limit * 0.9;

    /// <summary>How many batches run whose message is to be delivered again, for tests.</summary>
    internal int AwayCount
    {
        get
        {
            lock (_lock)
            {
                return _open.Count(static b => b.IsAway);
            }
        }
    }

    /// <summary>Whether it looks for messages that run for too long, for tests.</summary>
    internal bool IsRenewing => Volatile.Read(ref _isRenewing) == 1;

    private bool IsOlder(long receivedAt, TimeSpan age) => _options.TimeProvider.GetElapsedTime(receivedAt) >= age;

    private bool HasRoom()
    {
        lock (_lock)
        {
            // Set before the next acknowledgement can come.
            _waitsForRoom = !_pace.HasRoom(RunningLimit);
            return !_waitsForRoom;
        }
    }

    private bool IsStale(Delivery delivery) => !_isKeyed && delivery.Deliveries == 0 && IsOlder(delivery.ReceivedAt, WaitingLimit);

    /// <summary>Publishes again what has waited here for too long. The oldest messages come first.</summary>
    private async ValueTask GiveBackStaleAsync(ConsumerLink link, CancellationToken stop)
    {
        while (_ready.TryPeek(out Delivery? delivery) && IsStale(delivery))
        {
            await _publisher.PublishAsync([delivery.Again(_names.Work[0], delivery.MessageId ?? "")], stop).ConfigureAwait(false);
            await DropAsync(link, _ready.Dequeue()).ConfigureAwait(false);
        }
    }

    /// <summary>Publishes copies of messages that run for almost as long as the broker waits. Whoever gets a copy here goes on with what is running.</summary>
    private async Task RenewAsync()
    {
        if (Interlocked.Exchange(ref _isRenewing, 1) == 1)
        {
            return;
        }

        try
        {
            List<RabbitBatch<T>> late;
            lock (_lock)
            {
                late = [.. _open.Where(b => b is { IsAway: false, IsUnwritable: false } && b.Link.IsOpen && IsOlder(b.ReceivedAt, RenewalLimit))];
            }

            int renewed = 0;
            foreach (RabbitBatch<T> batch in late)
            {
                renewed += await TryRenewAsync(batch).ConfigureAwait(false) ? 1 : 0;
            }

            if (renewed > 0)
            {
                Notice(string.Create(
                    CultureInfo.InvariantCulture,
                    $"A source of the queue '{Name}' gave back {renewed} messages after {RenewalLimit}, and RabbitMQ waits for {_limit} (consumer_timeout)"));
            }
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // Publishing failed. The next look tries again, and otherwise RabbitMQ takes the messages away.
        }
        finally
        {
            Volatile.Write(ref _isRenewing, 0);
        }
    }

    private async ValueTask<bool> TryRenewAsync(RabbitBatch<T> batch)
    {
        // One message, whatever the options say, because a copy stands for the whole batch.
        RabbitWorkQueueOptions whole = _options with { MaxItemsPerMessage = int.MaxValue, MaxMessageBytes = _options.LargestMessage };
        string route = batch.IsSuspect ? _names.Suspects : _names.Work[0];
        List<Outgoing> messages;
        try
        {
            messages = [.. new ItemMessages<T>(Serializer, whole, _publisher.Buffers).Split(batch.Items, _ => route, headers: null, isNew: false)];
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // The serializer failed. The other messages are not to wait for that one, which RabbitMQ takes away at its limit.
            lock (_lock)
            {
                batch.IsUnwritable = true;
            }

            Notice($"A message of the queue '{Name}' runs for longer than RabbitMQ waits, and cannot be published again, because the serializer of its items "
                + $"failed ({e.Message})");
            return false;
        }

        string copy = Guid.NewGuid().ToString("N");
        ConsumerLink link;
        ulong tag;
        lock (_lock)
        {
            if (messages.Count > 1 || !_open.Contains(batch))
            {
                messages.ForEach(static m => m.Release());
                return false;
            }

            (link, tag, batch.Away) = (batch.Link, batch.Tag, copy);
            _away.Add(copy, batch);
        }

        AddCrashes(messages[0], batch.Crashes);
        messages[0].SetHeader(Delivery.CopyHeader, copy);
        bool isPublished = false;
        try
        {
            await _publisher.PublishAsync(messages, _stop.Token).ConfigureAwait(false);
            isPublished = true;
        }
        finally
        {
            bool isOver = isPublished;
            lock (_lock)
            {
                // A copy that has come back is there, and a batch that is done needs none.
                if (!isPublished && batch.Away == copy && _open.Contains(batch))
                {
                    batch.Away = null;
                    _away.TryTake(copy, out _);
                }
                else
                {
                    isOver = true;
                }
            }

            if (isOver)
            {
                await link.AcknowledgeAsync([tag], isLast: true).ConfigureAwait(false);
            }
        }

        return true;
    }

    /// <summary>Called with a link that has ended, before the next one delivers: what RabbitMQ took away because of its limit is still running.</summary>
    private void TakeLeave(ConsumerLink link)
    {
        if (link == _left || link.ConsumerTimeout is not { } limit)
        {
            return;
        }

        _left = link;
        lock (_lock)
        {
            _limit = limit < _limit ? limit : _limit;
            foreach (RabbitBatch<T> batch in _open.Where(b => b.Link == link && !b.IsAway))
            {
                batch.Away = batch.IsStale ? null : batch.MessageId;
                _away.Add(batch.MessageId, batch.IsStale ? null : batch);
            }

            foreach (Delivery delivery in _suspect is null ? _ready : _ready.Append(_suspect))
            {
                _away.Add(delivery.MessageId, null);
            }
        }

        Notice(string.Create(
            CultureInfo.InvariantCulture,
            $"RabbitMQ took the messages of a source of the queue '{Name}' away, because one was not acknowledged within {limit} (consumer_timeout)"));
    }

    /// <summary>Whether a message that is delivered once more is still running here, or is done. It goes on with the new tag.</summary>
    private async ValueTask<bool> IsHereAsync(ConsumerLink link, Delivery delivery)
    {
        lock (_lock)
        {
            string? name = delivery.Copy ?? (delivery.Deliveries > 0 ? delivery.MessageId : null);
            if (name is null || !_away.TryTake(name, out RabbitBatch<T>? batch))
            {
                return false;
            }

            if (batch is { IsStale: false } && batch.Away == name && _open.Contains(batch))
            {
                (batch.Link, batch.Tag, batch.ReceivedAt, batch.Away) = (link, delivery.Tag, delivery.ReceivedAt, null);
                delivery.Release();
                return true;
            }

            if (delivery.Copy is null)
            {
                // Another one with this identity may have been published since, so it is not dropped. It runs again, and no process has died.
                delivery.Forgive();
                return false;
            }
        }

        await DropAsync(link, delivery).ConfigureAwait(false);
        return true;
    }

    private void Notice(string what)
    {
        lock (_lock)
        {
            _notices.Enqueue(new TimeoutException(
                $"{what}; no process died and nothing is lost, but items may run twice: publish fewer items in a message (MaxItemsPerMessage), lower Prefetch "
                + "and MaxItemsInFlight, or raise consumer_timeout on the broker and ConsumerTimeout here."));
            if (_notices.Count > MostNotices)
            {
                _notices.Dequeue();
            }
        }

        Link()?.Nudge();
    }

    private void ThrowNotice()
    {
        TimeoutException? notice;
        lock (_lock)
        {
            _notices.TryDequeue(out notice);
        }

        if (notice is not null)
        {
            throw notice;
        }
    }
}

/// <summary>A message that was delivered, or what could be read of it.</summary>
/// <param name="items">The items.</param>
/// <param name="position">The number of the delivery.</param>
internal sealed class RabbitBatch<T>(IReadOnlyList<WorkItem<T>> items, string position) : WorkBatch<T>(items, position)
{
    /// <summary>Where its tag means something. It, the tag and the rest change under the lock of the source.</summary>
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
/// taken them away. A bounded number, of which the oldest are forgotten. Guarded by the lock of the source.
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
/// Measures how many items are acknowledged in a second, and so says whether one more message would still be acknowledged in time. Guarded by the lock of the
/// source.
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
