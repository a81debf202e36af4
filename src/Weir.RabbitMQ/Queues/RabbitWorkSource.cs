using System.Globalization;
using Weir.Core;
using Weir.Resilience;

namespace Weir.RabbitMQ;

/// <summary>
/// A consuming end of a queue. A message that was delivered before is split, and its halves go to a queue of suspects. The source takes one suspect at a time,
/// while it has nothing else, so that another crash identifies its cause. With partitions, such messages stay where they are, to preserve the order.
/// </summary>
/// <remarks>
/// <para>
/// One caller at a time reads. The read takes a delivery from the link, makes a batch of it and enters it into <see cref="OpenBatches{T}"/>, which decides from
/// then on what is acknowledged when. Acknowledging, returning and redelivering may come from any thread at any time, and a timer looks for suspects and for
/// messages that run for too long. Whatever may let a waiting read continue wakes the link.
/// </para>
/// <para>
/// A link that has ended is replaced by the next read. What it had delivered is forgotten first, because RabbitMQ delivers it again; what RabbitMQ has taken
/// away because of its limit is recognized then.
/// </para>
/// <para>
/// Whoever disposes of the source waits for the start, the read and the timer. Then it acknowledges what is done, publishes again what is not (without
/// partitions) and closes the link. A message is always published before the one that it replaces is acknowledged, so a crash in between repeats it and loses
/// nothing.
/// </para>
/// <para>The lock here, that of the open batches and the semaphore of the link are never held together.</para>
/// </remarks>
internal sealed class RabbitWorkSource<T> : IWorkSource<T>, IRedelivery<T>
{
    private static readonly TimeSpan SuspectInterval = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan ReleaseLimit = TimeSpan.FromSeconds(10);

    // Those that nobody has heard: a source that nobody reads keeps the last of them.
    private const int MostNotices = 16;

    // Immutable; the batches have a lock of their own.
    private readonly RabbitWorkQueueOptions _options;
    private readonly QueueNames _names;
    private readonly Broker _broker;
    private readonly Topology _topology;
    private readonly Publisher _publisher;
    private readonly MessageReader<T> _reader;
    private readonly Action<RabbitWorkSource<T>> _ended;
    private readonly bool _isKeyed;
    private readonly CancellationTokenSource _stop = new();
    private readonly Lock _lock = new();
    private readonly OpenBatches<T> _batches;

    // Under the lock.
    private readonly Queue<TimeoutException> _notices = new();
    private TaskCompletionSource? _starting;
    private bool _isDisposed;

    // Of the reader, and of whoever disposes when the last read has ended. _left is the last link whose end was noted. With _othersFirst, the next batch is of
    // the other messages although there are suspects: the two alternate.
    private readonly Queue<Delivery> _ready = new();
    private Task<RabbitBatch<T>?>? _taking;
    private Delivery? _suspect;
    private ConsumerLink? _left;
    private long _lastBatch;
    private bool _othersFirst;

    // Of whoever starts, and then of whoever disposes.
    private ITimer? _timer;

    // Atomic. The start and the reader write the link, when the one before has ended. The timer asks for suspects; the reader takes that back before it counts
    // them, so that no tick is lost. The reader says whether there are some, and an acknowledgement that sees it wakes the reader. _isRenewing is 1 while
    // copies are published: whoever has exchanged 0 for 1 publishes them.
    private volatile ConsumerLink? _link;
    private volatile bool _asksForSuspects;
    private volatile bool _hasSuspects;
    private int _isRenewing;

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
        _batches = new OpenBatches<T>(options);
        _reader = new MessageReader<T>(name, serializer, options);
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
        List<RabbitBatch<T>> again = _batches.Return(batches);
        Link()?.Wake();
        await _publisher.PublishAsync(again.SelectMany(Again), cancellationToken).ConfigureAwait(false);

        // A copy that comes after this is dropped, because its batch is not open any more.
        await AcknowledgeAsync(again).ConfigureAwait(false);
    }

    public async ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batch);
        ArgumentNullException.ThrowIfNull(items);

        // The message of a lost connection is delivered again as a whole.
        if (_batches.IsHeld(batch))
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
        RabbitBatch<T>[] open = _batches.Of(link);
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
        (Dictionary<ConsumerLink, List<ulong>> tags, bool hasSuspect, bool isLast) = _batches.End(batches);
        foreach ((ConsumerLink link, List<ulong> ofLink) in tags)
        {
            await link.AcknowledgeAsync(ofLink, isLast).ConfigureAwait(false);
        }

        if (hasSuspect || _hasSuspects || _batches.WaitsForRoom)
        {
            Link()?.Wake();
        }
    }

    /// <summary>The link, which may have ended; null before the first.</summary>
    internal ConsumerLink? Link() => _link;

    private void LookAround()
    {
        _asksForSuspects = true;
        Link()?.Wake();
        _ = RenewAsync();
    }

    // Taking messages, and making batches of them: of the one reader.

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

        if (!_ready.TryPeek(out Delivery? delivery) || delivery.Deliveries > 0 || delivery.Copy is not null || _batches.HasReturnedOrSuspect()
            || IsStale(delivery) || (!_isKeyed && !_batches.HasRoom()) || _reader.Read(delivery) is not { Letters: null } decoded)
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
            if (_batches.TakeReturned() is { } returned)
            {
                return returned;
            }

            if (_asksForSuspects)
            {
                _asksForSuspects = false;
                _hasSuspects |= await link.CountAsync(_names.Suspects, stop).ConfigureAwait(false) > 0;
            }

            await GiveBackStaleAsync(link, stop).ConfigureAwait(false);
            (bool isIdle, bool hasOpenSuspect) = _batches.Look();
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

                if (delivery is not null && (_isKeyed || delivery.Deliveries > 0 || _batches.HasRoom()))
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
        _batches.ForgetReturned();
        _link = link;
        return link;
    }

    private async ValueTask<RabbitBatch<T>?> TakeAsync(ConsumerLink link, Delivery delivery)
    {
        if (delivery.Deliveries > 0 && !_isKeyed && Unreadable.Find(delivery.Body, _options) is null)
        {
            await _publisher.PublishAsync(MessageReader<T>.Halves(delivery, _names.Suspects, _publisher.Buffers), _stop.Token).ConfigureAwait(false);
            _hasSuspects = true;
            await DropAsync(link, _ready.Dequeue()).ConfigureAwait(false);
            return null;
        }

        if (_reader.Read(delivery) is not { } decoded)
        {
            // RabbitMQ moves the message to the dead letters as it is. Listing those says what is wrong with it.
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
            await _publisher.PublishAsync(MessageReader<T>.Halves(suspect, _names.Suspects, _publisher.Buffers), stop).ConfigureAwait(false);
            _suspect = null;
            await DropAsync(link, suspect).ConfigureAwait(false);
            return null;
        }

        DecodedMessage<T> decoded = _reader.Read(suspect)!;
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
        _batches.Add(batch);
        return batch;
    }

    private static async ValueTask DropAsync(ConsumerLink link, Delivery delivery)
    {
        await link.AcknowledgeAsync([delivery.Tag], isLast: true).ConfigureAwait(false);
        delivery.Release();
    }

    private async ValueTask BuryAsync(DecodedMessage<T> decoded)
    {
        if (decoded.Letters is { } letters)
        {
            await _publisher.PublishAsync(letters.Select(l => Outgoing.Of(l, _names.Dead)), _stop.Token).ConfigureAwait(false);
        }
    }

    // Staying below the broker's limit for acknowledging messages, and recognizing what the broker has taken away because of it: no process has died then.

    /// <summary>How many batches run whose message is to be delivered again, for tests.</summary>
    internal int AwayCount => _batches.AwayCount;

    /// <summary>Whether it looks for messages that run for too long, for tests.</summary>
    internal bool IsRenewing => Volatile.Read(ref _isRenewing) == 1;

    private bool IsStale(Delivery delivery) =>
        !_isKeyed && delivery.Deliveries == 0 && _options.TimeProvider.GetElapsedTime(delivery.ReceivedAt) >= _batches.WaitingLimit;

    /// <summary>Publishes again what has waited here for too long. The oldest messages come first.</summary>
    private async ValueTask GiveBackStaleAsync(ConsumerLink link, CancellationToken stop)
    {
        while (_ready.TryPeek(out Delivery? delivery) && IsStale(delivery))
        {
            await _publisher.PublishAsync([delivery.Again(_names.Work[0], delivery.MessageId ?? "")], stop).ConfigureAwait(false);
            await DropAsync(link, _ready.Dequeue()).ConfigureAwait(false);
        }
    }

    /// <summary>Publishes copies of messages that run for almost as long as the broker waits. A copy that comes back here lets what runs continue.</summary>
    private async Task RenewAsync()
    {
        if (Interlocked.Exchange(ref _isRenewing, 1) == 1)
        {
            return;
        }

        try
        {
            int renewed = 0;
            foreach (RabbitBatch<T> batch in _batches.Late())
            {
                renewed += await TryRenewAsync(batch).ConfigureAwait(false) ? 1 : 0;
            }

            if (renewed > 0)
            {
                Notice(string.Create(
                    CultureInfo.InvariantCulture,
                    $"A source of the queue '{Name}' gave back {renewed} messages after {_batches.RenewalLimit}, and RabbitMQ waits for {_batches.Limit}")
                    + " (consumer_timeout)");
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
            _batches.CannotCopy(batch);
            Notice($"A message of the queue '{Name}' runs for longer than RabbitMQ waits, and cannot be published again, because the serializer of its items "
                + $"failed ({e.Message})");
            return false;
        }

        string copy = Guid.NewGuid().ToString("N");
        if (messages.Count > 1 || _batches.BeginCopy(batch, copy) is not (ConsumerLink link, ulong tag))
        {
            messages.ForEach(static m => m.Release());
            return false;
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
            if (isPublished || _batches.CopyFailed(batch, copy))
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
        _batches.TakenAway(link, limit, _suspect is null ? _ready : _ready.Append(_suspect));
        Notice(string.Create(
            CultureInfo.InvariantCulture,
            $"RabbitMQ took the messages of a source of the queue '{Name}' away, because one was not acknowledged within {limit} (consumer_timeout)"));
    }

    /// <summary>
    /// Whether a message that is delivered once more needs no new batch: it still runs here, with the new tag from now on, or is a copy of one that is done.
    /// </summary>
    private async ValueTask<bool> IsHereAsync(ConsumerLink link, Delivery delivery)
    {
        switch (_batches.Recognize(link, delivery))
        {
            case Recognition.Runs:
                delivery.Release();
                return true;
            case Recognition.CopyOfDone:
                await DropAsync(link, delivery).ConfigureAwait(false);
                return true;
            case Recognition.TakenAway:
                delivery.Forgive();
                return false;
            default:
                return false;
        }
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

        Link()?.Wake();
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
