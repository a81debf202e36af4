using Weir.Core;
using Weir.Resilience;

namespace Weir.RabbitMQ;

/// <summary>
/// A consuming end of a queue. A message that was delivered before is split, and its halves go to a queue of suspects. The source takes one suspect at a time,
/// while it has nothing else, so that another crash identifies its cause. With partitions, such messages stay where they are, to keep the order.
/// </summary>
internal sealed partial class RabbitWorkSource<T> : IWorkSource<T>, IRedelivery<T>
{
    private static readonly TimeSpan SuspectInterval = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan ReleaseLimit = TimeSpan.FromSeconds(10);

    private readonly RabbitWorkQueue<T> _queue;
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

    public RabbitWorkSource(RabbitWorkQueue<T> queue)
    {
        _queue = queue;
        _isKeyed = queue.Options.Partitions > 0;
        _limit = queue.Options.ConsumerTimeout;
        _pace = new DeliveryPace(queue.Options.TimeProvider, queue.Options.Prefetch ?? RabbitWorkQueueOptions.LeastPrefetch);
        _asksForSuspects = !_isKeyed;
    }

    public string MessagingSystem => "rabbitmq";

    public string Name => _queue.Name;

    public IWorkSerializer<T> Serializer => _queue.Serializer;

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
                _timer = _queue.Options.TimeProvider.CreateTimer(
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
        await _queue.Publisher.PublishAsync(again.SelectMany(Again), cancellationToken).ConfigureAwait(false);
        await AcknowledgeAsync(again).ConfigureAwait(false);
    }

    public async ValueTask RedeliverAsync(WorkBatch<T> batch, IReadOnlyList<WorkItem<T>> items, TimeSpan delay, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(batch);
        ArgumentNullException.ThrowIfNull(items);

        // The message of a lost connection is delivered again as a whole.
        if (Open([batch]).Count > 0)
        {
            string route = _queue.Names.RetryOf(delay);
            await _queue.Publisher.PublishAsync(Messages().Split(items, _ => route, headers: null, isNew: false), cancellationToken).ConfigureAwait(false);
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

        _queue.Forget(this);
        await _stop.CancelAsync().ConfigureAwait(false);
        await (_starting?.Task ?? Task.CompletedTask).ConfigureAwait(false);
        await (_taking ?? Task.CompletedTask).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (_timer is not null)
        {
            await _timer.DisposeAsync().ConfigureAwait(false);
        }

        if (Link() is { } link)
        {
            using var limit = new CancellationTokenSource(ReleaseLimit, _queue.Options.TimeProvider);
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
                messages.Add(delivery.Again(_queue.Names.Work[0], delivery.MessageId ?? ""));
                tags.Add(delivery.Tag);
            }
        }

        if (_suspect is { } suspect)
        {
            Outgoing message = suspect.Again(_queue.Names.Suspects, suspect.MessageId ?? "");
            AddCrashes(message, Crashes(suspect));
            messages.Add(message);
            tags.Add(suspect.Tag);
        }

        await _queue.Publisher.PublishAsync(messages, cancellationToken).ConfigureAwait(false);
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

    private ItemMessages<T> Messages() => new(_queue.Serializer, _queue.Options, _queue.Publisher.Buffers);

    // A suspect stays one.
    private IEnumerable<Outgoing> Again(RabbitBatch<T> batch)
    {
        string route = batch.IsSuspect ? _queue.Names.Suspects : _queue.Names.Work[0];
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
}
