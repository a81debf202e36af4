using System.Globalization;

namespace Weir.RabbitMQ;

/// <content>Taking messages, and making batches of them. All of this runs for one reader at a time.</content>
internal sealed partial class RabbitWorkSource<T>
{
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
                _hasSuspects |= await link.CountAsync(_queue.Names.Suspects, stop).ConfigureAwait(false) > 0;
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
            _queue.Broker, _queue.Topology, _queue.Names.Work, _queue.Options, cancellationToken).ConfigureAwait(false);
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
        if (delivery.Deliveries > 0 && !_isKeyed && Unreadable.Find(delivery.Body, _queue.Options) is null)
        {
            await _queue.Publisher.PublishAsync(Halves(delivery), _stop.Token).ConfigureAwait(false);
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
        _suspect ??= await link.GetAsync(_queue.Names.Suspects, stop).ConfigureAwait(false);
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

        if (Unreadable.Find(suspect.Body, _queue.Options) is not null)
        {
            _suspect = null;
            await link.RejectAsync(suspect.Tag).ConfigureAwait(false);
            suspect.Release();
            return null;
        }

        if (suspect.Deliveries > 0 && new EnvelopeReader(suspect.Body).Count > 1)
        {
            await _queue.Publisher.PublishAsync(Halves(suspect), stop).ConfigureAwait(false);
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
        var writer = new EnvelopeWriter(_queue.Publisher.Buffers);
        var reader = new EnvelopeReader(delivery.Body);
        int first = (reader.Count + 1) / 2;
        while (reader.Read())
        {
            writer.Add(reader.Id, reader.Key, reader.Attempt, reader.Headers, reader.Value);
            if (writer.Count == first && halves.Count == 0)
            {
                halves.Add(Outgoing.Of(writer, _queue.Names.Suspects, delivery.TraceHeaders()));
            }
        }

        if (writer.Count > 0)
        {
            halves.Add(Outgoing.Of(writer, _queue.Names.Suspects, delivery.TraceHeaders()));
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
            await _queue.Publisher.PublishAsync(letters.Select(l => Outgoing.Of(l, _queue.Names.Dead)), _stop.Token).ConfigureAwait(false);
        }
    }

    /// <returns>Null if nothing of the message can be read.</returns>
    private Decoded? Decode(Delivery delivery)
    {
        if (delivery.Length > _queue.Options.LargestMessage)
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
        if (reader.Value.Length > _queue.Options.MaxItemBytes)
        {
            error = string.Create(
                CultureInfo.InvariantCulture,
                $"The value has {reader.Value.Length:N0} bytes, and the queue takes at most {_queue.Options.MaxItemBytes:N0} (MaxItemBytes).");
        }
        else
        {
            try
            {
                decoded.Items.Add(new WorkItem<T>(id, _queue.Serializer.Read(reader.Value), reader.Key, reader.Attempt, headers));
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
            Time = _queue.Options.TimeProvider.GetUtcNow(),
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
}
