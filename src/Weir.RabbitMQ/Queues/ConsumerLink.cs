using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading.Channels;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;
using Weir.Core;
using Weir.Resilience;

namespace Weir.RabbitMQ;

/// <summary>One connection that consumes. The tags of its deliveries mean something only here, and nothing after its end.</summary>
[SuppressMessage("Design", "CA1001", Justification = "Its end disposes of the timer. A semaphore whose handle nobody asked for holds nothing.")]
internal sealed class ConsumerLink : IUnattended
{
    // How long a message that is done waits for others, so that RabbitMQ hears of many at once: each acknowledgement is an entry in the log of a quorum queue.
    private static readonly TimeSpan LongestWait = TimeSpan.FromMilliseconds(10);

    // Nothing is delivered instead of messages that wait, so they are at most this part of the prefetch.
    private const int WaitingPart = 4;

    // Immutable. What the client calls back hands deliveries over to _incoming, and the reader drains that. _ended is
    // cancelled with the link: the client may wait forever for a connection that passes nothing on. _consumers is complete before the link is handed out.
    private readonly Broker _broker;
    private readonly TimeProvider _clock;
    private readonly IConnection _connection;
    private readonly IChannel _channel;
    private readonly Channel<Delivery?> _incoming = Channel.CreateUnbounded<Delivery?>(new UnboundedChannelOptions { SingleReader = true });
    private readonly SemaphoreSlim _acknowledging = new(1, 1);
    private readonly int _mostWaiting;
    private readonly ITimer _timer;
    private readonly List<string> _consumers = [];
    private readonly CancellationTokenSource _ended = new();
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Under the semaphore. The timer is set for the first tag that waits.
    private readonly List<ulong> _waiting = [];
    private readonly Acknowledgements _acknowledgements = new();

    // Atomic. _isClosed and _isStopping are set once. _cancelled counts the consumers that the client has ended; the last one completes _stopped. _isWoken is 1
    // while the reader has a wake-up to drain, so there is at most one. _consumerTimeout, in milliseconds, is written before _isClosed.
    private volatile bool _isClosed;
    private volatile bool _isStopping;
    private int _cancelled;
    private int _isWoken;
    private long _consumerTimeout;

    private ConsumerLink(Broker broker, IConnection connection, IChannel channel, int prefetch, TimeProvider clock)
    {
        _broker = broker;
        _clock = clock;
        _connection = connection;
        _channel = channel;
        _mostWaiting = Math.Max(1, prefetch / WaitingPart);
        _timer = clock.CreateTimer(
            static link => Unattended.Run((ConsumerLink)link!, static link => _ = link.AcknowledgeAsync([], isLast: true).AsTask()),
            this,
            Timeout.InfiniteTimeSpan,
            Timeout.InfiniteTimeSpan);
    }

    public bool IsOpen => !_isClosed;

    /// <summary>The limit of RabbitMQ for acknowledging a message, if that is why it has ended the link; null if it is not, or not known yet.</summary>
    public TimeSpan? ConsumerTimeout => Volatile.Read(ref _consumerTimeout) is > 0 and long limit ? TimeSpan.FromMilliseconds(limit) : null;

    /// <summary>How many messages wait to be acknowledged, for tests.</summary>
    internal int Waiting => _waiting.Count;

    /// <summary>The channel, for tests.</summary>
    internal IChannel Amqp => _channel;

    public static async ValueTask<ConsumerLink> OpenAsync(
        Broker broker, Topology topology, IReadOnlyList<string> queues, RabbitWorkQueueOptions options, CancellationToken cancellationToken)
    {
        IConnection connection = await broker.ConnectAsync("consumer", cancellationToken).ConfigureAwait(false);
        try
        {
            await topology.CheckAsync(connection, cancellationToken).ConfigureAwait(false);
            return await broker.GuardAsync(async () =>
            {
                IChannel channel = await connection.CreateChannelAsync(cancellationToken: cancellationToken).ConfigureAwait(false);
                int share = Math.Max(1, options.MessagesAtOnce / queues.Count);
                var link = new ConsumerLink(broker, connection, channel, share, options.TimeProvider);
                channel.ChannelShutdownAsync += link.OnShutdownAsync;

                // Holds for each consumer from here on, so at most this many messages are in the memory of this process.
                await channel.BasicQosAsync(0, (ushort)share, global: false, cancellationToken).ConfigureAwait(false);
                foreach (string queue in queues)
                {
                    var consumer = new AsyncEventingBasicConsumer(channel);
                    consumer.ReceivedAsync += link.OnReceivedAsync;
                    consumer.UnregisteredAsync += link.OnCancelledAsync;
                    link._consumers.Add(await channel.BasicConsumeAsync(queue, autoAck: false, consumer, cancellationToken).ConfigureAwait(false));
                }

                return link;
            }, cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            await Broker.CloseAsync(connection).ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Moves what has arrived to the end of a queue, whose length RabbitMQ bounds by the prefetch.</summary>
    public void Drain(Queue<Delivery> into)
    {
        while (_incoming.Reader.TryRead(out Delivery? delivery))
        {
            if (delivery is null)
            {
                Volatile.Write(ref _isWoken, 0);
            }
            else
            {
                into.Enqueue(delivery);
            }
        }
    }

    /// <summary>Waits until there is something to drain, the link has ended, or the reader is woken.</summary>
    public async ValueTask WaitAsync(CancellationToken cancellationToken) => await _incoming.Reader.WaitToReadAsync(cancellationToken).ConfigureAwait(false);

    /// <summary>Lets the reader look again.</summary>
    public void Wake()
    {
        if (Interlocked.Exchange(ref _isWoken, 1) == 0)
        {
            _incoming.Writer.TryWrite(null);
        }
    }

    /// <summary>
    /// Acknowledges tags, at once or together with those of messages that are done soon after. They mean nothing if the link has ended, and then RabbitMQ
    /// delivers their messages again.
    /// </summary>
    /// <param name="tags">The tags; none for those that wait.</param>
    /// <param name="isLast">Whether all that wait are acknowledged now, because nothing else is open that could be done soon.</param>
    public async ValueTask AcknowledgeAsync(List<ulong> tags, bool isLast)
    {
        await _acknowledging.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        try
        {
            if (_isClosed)
            {
                return;
            }

            bool isFirst = _waiting.Count == 0;
            _waiting.AddRange(tags);
            if (isLast || _waiting.Count >= _mostWaiting)
            {
                await AcknowledgeWaitingAsync().ConfigureAwait(false);
            }
            else if (isFirst)
            {
                _timer.Change(LongestWait, Timeout.InfiniteTimeSpan);
            }
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // After any failure it is not known what RabbitMQ received. Everything that is not acknowledged is delivered again.
            Close();
        }
        finally
        {
            _acknowledging.Release();
        }
    }

    public ValueTask<uint> CountAsync(string queue, CancellationToken cancellationToken) => AskAsync(
        async () => (await _channel.QueueDeclarePassiveAsync(queue, cancellationToken).ConfigureAwait(false)).MessageCount, cancellationToken);

    public ValueTask<Delivery?> GetAsync(string queue, CancellationToken cancellationToken) => AskAsync(
        async () => await _channel.BasicGetAsync(queue, autoAck: false, cancellationToken).ConfigureAwait(false) is { } result
            ? Delivery.Of(result, _clock.GetTimestamp())
            : null,
        cancellationToken);

    /// <summary>Gives up a message: RabbitMQ moves it to the dead letters as it is.</summary>
    public async ValueTask RejectAsync(ulong tag)
    {
        await _acknowledging.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        try
        {
            if (!_isClosed)
            {
                _acknowledgements.Settle([tag]);
                await _channel.BasicRejectAsync(tag, requeue: false, _ended.Token).ConfigureAwait(false);
            }
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            Close();
        }
        finally
        {
            _acknowledging.Release();
        }
    }

    /// <summary>Stops the deliveries, so that nothing more arrives that would have to be returned.</summary>
    public async ValueTask StopAsync(CancellationToken cancellationToken)
    {
        _isStopping = true;
        foreach (string consumer in _consumers)
        {
            await _channel.BasicCancelAsync(consumer, noWait: false, cancellationToken).ConfigureAwait(false);
        }

        // The client tells each consumer of this only after it has handed over all earlier deliveries.
        await _stopped.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Acknowledging failed: RabbitMQ delivers again what is not acknowledged.</summary>
    void IUnattended.WorkFailed(Exception error) => Close();

    public void Close()
    {
        if (!_isClosed && _channel.CloseReason is { } reason)
        {
            Volatile.Write(ref _consumerTimeout, (long)(Broker.ConsumerTimeout(reason)?.TotalMilliseconds ?? 0));
        }

        TakeNoMore();
        _ = _ended.CancelAsync();
        _ = Broker.CloseAsync(_connection).AsTask();
    }

    /// <summary>Ends the link after everything that was sent on it has arrived, or when nobody waits for that any more.</summary>
    public async ValueTask CloseAsync(CancellationToken cancellationToken)
    {
        TakeNoMore();
        await EndsAsync(_channel.CloseAsync(Constants.ReplySuccess, "Done", abort: true, CancellationToken.None), cancellationToken).ConfigureAwait(false);
        await _ended.CancelAsync().ConfigureAwait(false);
        await EndsAsync(Broker.CloseAsync(_connection).AsTask(), cancellationToken).ConfigureAwait(false);
    }

    // A failure says that the link has ended in another way.
    private static async Task EndsAsync(Task closing, CancellationToken cancellationToken) =>
        await closing.WaitAsync(cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);

    /// <summary>
    /// Makes a request to RabbitMQ. Without an answer the link ends: the channel takes no other request while it waits for this one, and nobody would process a
    /// message that comes as a late answer.
    /// </summary>
    private async ValueTask<T> AskAsync<T>(Func<ValueTask<T>> ask, CancellationToken cancellationToken)
    {
        try
        {
            return await _broker.GuardAsync(ask, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            Close();
            throw;
        }
    }

    private void TakeNoMore()
    {
        _isClosed = true;
        _timer.Dispose();
        _incoming.Writer.TryComplete();
    }

    private async ValueTask AcknowledgeWaitingAsync()
    {
        (ulong upTo, int covered) = _acknowledgements.Settle(_waiting);
        if (upTo > 0)
        {
            await _channel.BasicAckAsync(upTo, multiple: true, _ended.Token).ConfigureAwait(false);
        }

        for (int i = covered; i < _waiting.Count; i++)
        {
            await _channel.BasicAckAsync(_waiting[i], multiple: false, _ended.Token).ConfigureAwait(false);
        }

        _waiting.Clear();
    }

    // Only hands the message over, because the connection waits for this.
    private Task OnReceivedAsync(object sender, BasicDeliverEventArgs e)
    {
        _incoming.Writer.TryWrite(Delivery.Of(e, _clock.GetTimestamp()));
        return Task.CompletedTask;
    }

    private Task OnCancelledAsync(object sender, ConsumerEventArgs e)
    {
        // By RabbitMQ, because the queue is gone or moves to another node; or by this side, which is about to close.
        if (!_isStopping)
        {
            Close();
        }
        else if (Interlocked.Increment(ref _cancelled) == _consumers.Count)
        {
            _stopped.TrySetResult();
        }

        return Task.CompletedTask;
    }

    private Task OnShutdownAsync(object sender, ShutdownEventArgs e)
    {
        Close();
        return Task.CompletedTask;
    }
}

/// <summary>The tags of a channel that are settled: RabbitMQ is told of contiguous ones together, and of each other one by itself. Not thread-safe.</summary>
internal sealed class Acknowledgements
{
    private readonly HashSet<ulong> _settled = [];
    private ulong _lowest = 1;

    /// <param name="tags">Tags that are acknowledged now; sorted by this.</param>
    /// <returns>The tag up to which all can be acknowledged together, 0 for none, and how many of the tags that covers.</returns>
    public (ulong UpTo, int Covered) Settle(List<ulong> tags)
    {
        tags.Sort();
        foreach (ulong tag in tags)
        {
            if (tag == _lowest)
            {
                _lowest++;
            }
            else
            {
                _settled.Add(tag);
            }

            while (_settled.Count > 0 && _settled.Remove(_lowest))
            {
                _lowest++;
            }
        }

        // RabbitMQ no longer knows a tag that was acknowledged by itself, so the tag to send is the last of those that it still knows.
        int covered = CollectionsMarshal.AsSpan(tags).BinarySearch(_lowest);
        covered = covered < 0 ? ~covered : covered;
        return (covered == 0 ? 0 : tags[covered - 1], covered);
    }
}

/// <summary>A message as it was delivered, copied: the client's memory is reused when its callback returns.</summary>
internal sealed class Delivery
{
    private const string CountHeader = "x-delivery-count";

    /// <summary>How often a process died while it ran the message alone, before the message was published again.</summary>
    public const string CrashesHeader = "weir-crashes";

    /// <summary>The name of a copy of a message that is still running.</summary>
    public const string CopyHeader = "weir-copy";

    private byte[]? _buffer;

    private Delivery(ulong tag, bool isRedelivered, IReadOnlyBasicProperties properties, ReadOnlyMemory<byte> body, long receivedAt)
    {
        Tag = tag;
        ReceivedAt = receivedAt;
        MessageId = properties.IsMessageIdPresent() ? properties.MessageId : null;
        Type = properties.IsTypePresent() ? properties.Type : null;
        Headers = properties.Headers;
        long count = Number(CountHeader);
        Deliveries = count == 0 && isRedelivered ? 1 : count;
        Length = body.Length;
        _buffer = ArrayPool<byte>.Shared.Rent(Length);
        body.Span.CopyTo(_buffer);
    }

    public ulong Tag { get; }

    /// <summary>The timestamp of the queue's clock.</summary>
    public long ReceivedAt { get; }

    public string? MessageId { get; }

    public string? Type { get; }

    public IDictionary<string, object?>? Headers { get; }

    public int Length { get; }

    /// <summary>How often the queue delivered it before.</summary>
    public long Deliveries { get; private set; }

    /// <summary>The name of this copy; null if the message is none.</summary>
    public string? Copy =>
        Headers is not null && Headers.TryGetValue(CopyHeader, out object? value) && value is byte[] name ? Encoding.UTF8.GetString(name) : null;

    public int PastCrashes => (int)Math.Clamp(Number(CrashesHeader), 0, int.MaxValue / 2);

    public ReadOnlySpan<byte> Body => _buffer.AsSpan(0, Length);

    public static Delivery Of(BasicDeliverEventArgs e, long receivedAt) => new(e.DeliveryTag, e.Redelivered, e.BasicProperties, e.Body, receivedAt);

    public static Delivery Of(BasicGetResult e, long receivedAt) => new(e.DeliveryTag, e.Redelivered, e.BasicProperties, e.Body, receivedAt);

    /// <summary>Counts the last delivery as none.</summary>
    public void Forgive() => Deliveries--;

    /// <summary>A message with these bytes, to publish again.</summary>
    public Outgoing Again(string routingKey, string messageId)
    {
        var message = new Outgoing(routingKey, messageId, Type ?? "", Body.ToArray(), Length);
        message.Properties.Headers = TraceHeaders();
        if (Copy is { } copy)
        {
            message.SetHeader(CopyHeader, copy);
        }

        return message;
    }

    /// <summary>The headers that stay when items are published again.</summary>
    public Dictionary<string, object?>? TraceHeaders()
    {
        Dictionary<string, object?>? headers = null;
        foreach (string name in (ReadOnlySpan<string>)[TraceContext.Parent, TraceContext.State])
        {
            if (Headers is not null && Headers.TryGetValue(name, out object? value))
            {
                (headers ??= new(StringComparer.Ordinal))[name] = value;
            }
        }

        return headers;
    }

    /// <summary>Gives back the memory. Called once, by the reader, when it does not need the bytes any more.</summary>
    public void Release()
    {
        if (_buffer is { } buffer)
        {
            _buffer = null;
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    private long Number(string name)
    {
        if (Headers is null || !Headers.TryGetValue(name, out object? value))
        {
            return 0;
        }

        // Other programs may write anything to the queue.
        return value is long or int or short or byte or sbyte or ushort or uint ? Convert.ToInt64(value, CultureInfo.InvariantCulture) : 0;
    }
}
