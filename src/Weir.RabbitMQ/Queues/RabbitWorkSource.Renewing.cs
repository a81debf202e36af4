using System.Globalization;

namespace Weir.RabbitMQ;

/// <content>
/// What keeps messages below the broker's limit for acknowledging them, and what tells its end of a channel for that reason from the death of a process.
/// </content>
internal sealed partial class RabbitWorkSource<T>
{
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

    private bool IsOlder(long receivedAt, TimeSpan age) => _queue.Options.TimeProvider.GetElapsedTime(receivedAt) >= age;

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
            await _queue.Publisher.PublishAsync([delivery.Again(_queue.Names.Work[0], delivery.MessageId ?? "")], stop).ConfigureAwait(false);
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
        RabbitWorkQueueOptions whole = _queue.Options with { MaxItemsPerMessage = int.MaxValue, MaxMessageBytes = _queue.Options.LargestMessage };
        string route = batch.IsSuspect ? _queue.Names.Suspects : _queue.Names.Work[0];
        List<Outgoing> messages;
        try
        {
            messages = [.. new ItemMessages<T>(_queue.Serializer, whole, _queue.Publisher.Buffers).Split(batch.Items, _ => route, headers: null, isNew: false)];
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
            await _queue.Publisher.PublishAsync(messages, _stop.Token).ConfigureAwait(false);
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
