using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;
using Weir.Resilience;

namespace Weir.RabbitMQ;

/// <summary>
/// Publishes messages on one connection, in order, with a bounded number of them unconfirmed. Messages whose connection is lost are published again, with the
/// same identities and before all others.
/// </summary>
/// <remarks>
/// <para>
/// A message takes room in the window, then the semaphore, and is sent on the link. It has its room until it is settled: confirmed, refused or failed. Then its
/// call is told, once. If the link ends first, the message is lost, which does not settle it: whoever has the semaphore next sends it on the next link, before
/// everything else.
/// </para>
/// <para>
/// Order: first the semaphore, then the lock of the link, then the lock here. A link that ends calls <c>OnLost</c> under its own lock, so this class never
/// calls a link under its lock.
/// </para>
/// <para>Whoever disposes fails what is lost and closes the link; whoever loses something after that fails it.</para>
/// </remarks>
internal sealed class Publisher(Broker broker, string exchange, RabbitWorkQueueOptions options) : IAsyncDisposable
{
    private const int MaxLosses = 20;
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(2);

    // Immutable. _window has room for each message that is not settled, and whoever has _sending sends.
    private readonly MessageBuffers _buffers = new(options);
    private readonly SemaphoreSlim _window = new(options.ConfirmWindow);
    private readonly SemaphoreSlim _sending = new(1, 1);
    private readonly CancellationTokenSource _stop = new();
    private readonly Lock _lock = new();

    // Under the lock.
    private List<Outgoing> _lost = [];
    private PublishLink? _link;
    private bool _isDisposed;

    /// <summary>Where the bytes of messages come from, for one call or message at a time.</summary>
    public ArrayPool<byte> Buffers => _buffers.Pool;

    /// <summary>How many messages wait to be published again, for tests.</summary>
    internal int Lost
    {
        get
        {
            lock (_lock)
            {
                return _lost.Count;
            }
        }
    }

    /// <summary>Opens the connection, and uses it for something other than publishing.</summary>
    public async ValueTask UseAsync(Func<IConnection, ValueTask> use, CancellationToken cancellationToken)
    {
        await _sending.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            PublishLink link = await LinkWhileSendingAsync(cancellationToken).ConfigureAwait(false);
            await use(link.Connection).ConfigureAwait(false);
        }
        finally
        {
            _sending.Release();
        }
    }

    /// <summary>Sends a message, when there is room. The call gets the outcome, even if this throws because the caller no longer waits.</summary>
    public async ValueTask SendAsync(Outgoing message, PublishCall call, CancellationToken cancellationToken)
    {
        await _window.WaitAsync(cancellationToken).ConfigureAwait(false);
        message.Call = call;
        call.Begin();
        ValueTask sending = SendInOrderAsync(message, cancellationToken);
        if (sending.IsCompletedSuccessfully)
        {
            await sending.ConfigureAwait(false);
            return;
        }

        await sending.AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Publishes messages and waits for their confirms.</summary>
    public async ValueTask PublishAsync(IEnumerable<Outgoing> messages, CancellationToken cancellationToken)
    {
        var call = new PublishCall();
        foreach (Outgoing message in messages)
        {
            await SendAsync(message, call, cancellationToken).ConfigureAwait(false);
        }

        await call.WaitAsync(cancellationToken).ConfigureAwait(false);
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

        await _stop.CancelAsync().ConfigureAwait(false);
        PublishLink? link;
        lock (_lock)
        {
            link = _link;
        }

        if (link is not null)
        {
            await link.CloseAsync().ConfigureAwait(false);
        }

        FailLost(new ObjectDisposedException("RabbitWorkQueue"));
    }

    private async ValueTask SendInOrderAsync(Outgoing message, CancellationToken cancellationToken)
    {
        bool isSending = false;
        try
        {
            await _sending.WaitAsync(cancellationToken).ConfigureAwait(false);
            isSending = true;
            while (true)
            {
                PublishLink link = await LinkWhileSendingAsync(cancellationToken).ConfigureAwait(false);
                if (await link.SendAsync(exchange, message).ConfigureAwait(false))
                {
                    return;
                }
            }
        }
        catch (Exception e)
        {
            message.Call!.Fail(e);
            _window.Release();
            throw;
        }
        finally
        {
            if (isSending)
            {
                _sending.Release();
            }
        }
    }

    /// <summary>The link, after everything that was lost with the one before has been sent on it.</summary>
    private async ValueTask<PublishLink> LinkWhileSendingAsync(CancellationToken cancellationToken)
    {
        PublishLink? link;
        List<Outgoing> lost;
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            link = _link;
            lost = _lost;
        }

        return link is { IsOpen: true } && lost.Count == 0 ? link : await ReconnectAsync(cancellationToken).ConfigureAwait(false);
    }

    private async ValueTask<PublishLink> ReconnectAsync(CancellationToken cancellationToken)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _stop.Token);
        long begin = options.TimeProvider.GetTimestamp();
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                PublishLink link = await OpenAsync(either.Token).ConfigureAwait(false);
                if (await SendLostAsync(link).ConfigureAwait(false))
                {
                    return link;
                }
            }
            catch (Exception e) when (e is not OutOfMemoryException && !either.IsCancellationRequested)
            {
                if (e is WorkSetupException || options.TimeProvider.GetElapsedTime(begin) >= options.ReconnectTimeout)
                {
                    FailLost(e);
                    throw;
                }
            }

            TimeSpan pause = Backoff.GetDelay(
                BackoffStrategy.ExponentialJitter, FirstPause, LongestPause, attempt, TimeSpan.Zero, SeededRandom.Shared.NextDouble);
            await Task.Delay(TimerDelay.RoundUp(pause), options.TimeProvider, either.Token).ConfigureAwait(false);
        }
    }

    private async ValueTask<PublishLink> OpenAsync(CancellationToken cancellationToken)
    {
        PublishLink? open;
        lock (_lock)
        {
            open = _link;
        }

        // Not under the lock: a link that closes has its own, and then takes this one.
        if (open is { IsOpen: true })
        {
            return open;
        }

        PublishLink link = await PublishLink.OpenAsync(broker, OnSettled, OnLost, options.Notice, cancellationToken).ConfigureAwait(false);
        lock (_lock)
        {
            if (!_isDisposed)
            {
                _link = link;
                return link;
            }
        }

        await link.CloseAsync().ConfigureAwait(false);
        throw new ObjectDisposedException("RabbitWorkQueue");
    }

    /// <returns>Whether all was sent; otherwise the link is lost again.</returns>
    private async ValueTask<bool> SendLostAsync(PublishLink link)
    {
        while (true)
        {
            List<Outgoing> lost;
            lock (_lock)
            {
                lost = _lost;
                _lost = [];
            }

            if (lost.Count == 0)
            {
                return link.IsOpen;
            }

            for (int i = 0; i < lost.Count; i++)
            {
                if (!await link.SendAsync(exchange, lost[i]).ConfigureAwait(false))
                {
                    bool isDisposed;
                    lock (_lock)
                    {
                        // What was sent on the link before is lost with it, and is sent again first.
                        _lost.AddRange(lost[i..]);
                        isDisposed = _isDisposed;
                    }

                    if (isDisposed)
                    {
                        // Whoever disposed of this has not seen them.
                        FailLost(new ObjectDisposedException("RabbitWorkQueue"));
                    }

                    return false;
                }
            }
        }
    }

    // Called under the lock of the link. Otherwise another link could be opened before the lost messages are here, and send later ones first.
    private void OnLost(IReadOnlyList<Outgoing> messages, ShutdownEventArgs? reason)
    {
        string? explanation = reason is null ? null : broker.Explain(reason);
        List<Outgoing> again = [];
        foreach (Outgoing message in messages)
        {
            message.Losses++;
            if (explanation is null && message.Losses < MaxLosses)
            {
                again.Add(message);
                continue;
            }

            message.Call!.Fail(explanation is not null
                ? new WorkSetupException(explanation)
                : new IOException($"The connection was lost {MaxLosses} times with message {message.MessageId}: {reason?.ReplyText}"));
            _window.Release();
        }

        bool isDisposed;
        lock (_lock)
        {
            isDisposed = _isDisposed;
            _lost.InsertRange(0, again);
        }

        if (again.Count > 0 && !isDisposed)
        {
            // Takes the semaphore, so that no other call is about to publish.
            _ = Task.Run(RecoverAsync);
        }
    }

    private async Task RecoverAsync()
    {
        try
        {
            await UseAsync(static _ => default, _stop.Token).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // Nobody else cancels this.
            FailLost(e is OperationCanceledException ? new ObjectDisposedException("RabbitWorkQueue") : e);
        }
    }

    private void FailLost(Exception failure)
    {
        List<Outgoing> lost;
        lock (_lock)
        {
            lost = _lost;
            _lost = [];
        }

        foreach (Outgoing message in lost)
        {
            message.Call!.Fail(failure);
            _window.Release();
        }
    }

    // Only of a message that was confirmed has the client certainly read the bytes. It may still hold those of a message that failed.
    private void OnSettled(Outgoing message)
    {
        message.Release();
        _window.Release();
    }
}

/// <summary>One connection that publishes, and the messages that it has not confirmed. Sends are made one at a time.</summary>
[SuppressMessage("Design", "CA1001", Justification = "A source of cancellation without a timer holds nothing.")]
internal sealed class PublishLink
{
    // Immutable.
    private readonly IConnection _connection;
    private readonly IChannel _channel;
    private readonly Action<Outgoing> _settled;
    private readonly Action<IReadOnlyList<Outgoing>, ShutdownEventArgs?> _lost;
    private readonly Lock _lock = new();
    private readonly CancellationTokenSource _ended = new();

    // Under the lock: the messages that are not settled, by the numbers that the client gives them; and the last number.
    private readonly Dictionary<ulong, Outgoing> _outstanding = [];
    private ulong _last;
    private bool _isClosed;

    // Of the client's callbacks, which come one at a time: the first number that no confirm of several has covered.
    private ulong _lowest = 1;

    private PublishLink(
        IConnection connection, IChannel channel, Action<Outgoing> settled, Action<IReadOnlyList<Outgoing>, ShutdownEventArgs?> lost)
    {
        _connection = connection;
        _channel = channel;
        _settled = settled;
        _lost = lost;
    }

    public IConnection Connection => _connection;

    public bool IsOpen
    {
        get
        {
            lock (_lock)
            {
                return !_isClosed;
            }
        }
    }

    public static async ValueTask<PublishLink> OpenAsync(
        Broker broker,
        Action<Outgoing> settled,
        Action<IReadOnlyList<Outgoing>, ShutdownEventArgs?> lost,
        Action<string> notice,
        CancellationToken cancellationToken)
    {
        IConnection connection = await broker.ConnectAsync("publisher", cancellationToken).ConfigureAwait(false);
        try
        {
            // The client's own tracking looks through all that is outstanding at each confirm of several.
            var settings = new CreateChannelOptions(publisherConfirmationsEnabled: true, publisherConfirmationTrackingEnabled: false);
            IChannel channel = await broker.GuardAsync(
                async () => await connection.CreateChannelAsync(settings, cancellationToken).ConfigureAwait(false), cancellationToken).ConfigureAwait(false);
            var link = new PublishLink(connection, channel, settled, lost);
            connection.ConnectionBlockedAsync += (_, e) => SayAsync(
                $"RabbitMQ takes no messages for {broker.What} until its alarm ends ({e.Reason}). Calls that publish wait.");
            connection.ConnectionUnblockedAsync += (_, _) => SayAsync($"RabbitMQ takes messages for {broker.What} again.");
            Task SayAsync(string sentence)
            {
                notice(sentence);
                return Task.CompletedTask;
            }

            channel.BasicAcksAsync += link.OnAckAsync;
            channel.BasicNacksAsync += link.OnNackAsync;
            channel.BasicReturnAsync += link.OnReturnAsync;
            channel.ChannelShutdownAsync += link.OnShutdownAsync;
            if (channel.IsClosed)
            {
                throw new IOException("The connection ended while it was opened.");
            }

            return link;
        }
        catch
        {
            await Broker.CloseAsync(connection).ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Sends a message. If the link closes before it is settled, the message is among those that are lost with it.</summary>
    /// <returns>Whether the message belongs to the link.</returns>
    public async ValueTask<bool> SendAsync(string exchange, Outgoing message)
    {
        lock (_lock)
        {
            if (_isClosed)
            {
                return false;
            }

            message.Returned = null;
            _outstanding.Add(++_last, message);
        }

        try
        {
            // Not the caller's token: if a publish is given up inside the client, its number is unknown. When the link has ended, the number no longer matters,
            // and the client might wait forever for a connection that passes nothing on.
            await _channel.BasicPublishAsync(exchange, message.RoutingKey, mandatory: true, message.Properties, message.Body, _ended.Token)
                .ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            Close(_channel.CloseReason);
        }

        return true;
    }

    /// <summary>Ends the link. What is outstanding is lost.</summary>
    public void Close(ShutdownEventArgs? reason)
    {
        lock (_lock)
        {
            if (_isClosed)
            {
                return;
            }

            _isClosed = true;
            Outgoing[] lost = [.. _outstanding.OrderBy(static o => o.Key).Select(static o => o.Value)];
            _outstanding.Clear();
            _lost(lost, reason);
        }

        _ = _ended.CancelAsync();
        _ = Broker.CloseAsync(_connection).AsTask();
    }

    public async ValueTask CloseAsync()
    {
        Close(null);
        await Broker.CloseAsync(_connection).ConfigureAwait(false);
    }

    private Task OnAckAsync(object sender, BasicAckEventArgs e)
    {
        Settle(e.DeliveryTag, e.Multiple, isRefused: false);
        return Task.CompletedTask;
    }

    private Task OnNackAsync(object sender, BasicNackEventArgs e)
    {
        Settle(e.DeliveryTag, e.Multiple, isRefused: true);
        return Task.CompletedTask;
    }

    // RabbitMQ sends this before the confirm of the same message.
    private Task OnReturnAsync(object sender, BasicReturnEventArgs e)
    {
        lock (_lock)
        {
            foreach (Outgoing message in _outstanding.Values)
            {
                if (message.Returned is null && message.MessageId == e.BasicProperties.MessageId && message.RoutingKey == e.RoutingKey)
                {
                    message.Returned = e.ReplyText;
                    break;
                }
            }
        }

        return Task.CompletedTask;
    }

    private Task OnShutdownAsync(object sender, ShutdownEventArgs e)
    {
        Close(e);
        return Task.CompletedTask;
    }

    private void Settle(ulong tag, bool multiple, bool isRefused)
    {
        if (!multiple)
        {
            Settle(tag, isRefused);
            return;
        }

        for (; _lowest <= tag; _lowest++)
        {
            Settle(_lowest, isRefused);
        }
    }

    private void Settle(ulong tag, bool isRefused)
    {
        Outgoing? message;
        lock (_lock)
        {
            if (!_outstanding.Remove(tag, out message))
            {
                return;
            }
        }

        if (message.Returned is { } text)
        {
            message.Call!.Fail(new WorkSetupException(
                $"RabbitMQ has no queue '{message.RoutingKey}' for message {message.MessageId} ({text}): call SetupAsync, with the same options everywhere."));
        }
        else if (isRefused)
        {
            message.Call!.Refuse(message.MessageId);
        }
        else
        {
            message.Call!.Confirm();
        }

        _settled(message);
    }
}

/// <summary>The messages of one call, and what became of them.</summary>
internal sealed class PublishCall
{
    private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _lock = new();
    private readonly List<string> _refused = [];
    private Exception? _failure;
    private int _pending = 1;

    public void Begin() => Interlocked.Increment(ref _pending);

    public void Confirm() => End();

    public void Refuse(string messageId)
    {
        lock (_lock)
        {
            _refused.Add(messageId);
        }

        End();
    }

    public void Fail(Exception failure)
    {
        lock (_lock)
        {
            _failure ??= failure;
        }

        End();
    }

    /// <summary>Waits until each message has an outcome.</summary>
    /// <exception cref="RabbitRefusedException">Some were refused.</exception>
    public async ValueTask WaitAsync(CancellationToken cancellationToken)
    {
        End();
        await _done.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        if (_failure is not null)
        {
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(_failure);
        }

        if (_refused.Count > 0)
        {
            string first = string.Join(", ", _refused.Take(3));
            throw new RabbitRefusedException(
                string.Create(CultureInfo.InvariantCulture, $"RabbitMQ refused {_refused.Count} messages, first {first}: the queue is full or has failed."),
                _refused);
        }
    }

    private void End()
    {
        if (Interlocked.Decrement(ref _pending) == 0)
        {
            _done.TrySetResult();
        }
    }
}

/// <summary>A message that is being published. It stays until it is confirmed, because it may have to be published again.</summary>
internal sealed class Outgoing(string routingKey, string messageId, string type, byte[] buffer, int length, ArrayPool<byte>? pool = null)
{
    public string RoutingKey => routingKey;

    public string MessageId => messageId;

    public ReadOnlyMemory<byte> Body => buffer.AsMemory(0, length);

    public BasicProperties Properties { get; } = new() { DeliveryMode = DeliveryModes.Persistent, MessageId = messageId, Type = type };

    /// <summary>The call that waits for the confirm.</summary>
    public PublishCall? Call { get; set; }

    /// <summary>Why no queue takes it; null unless RabbitMQ has returned it.</summary>
    public string? Returned { get; set; }

    /// <summary>How often a connection was lost before its confirm.</summary>
    public int Losses { get; set; }

    public static Outgoing Of(EnvelopeWriter writer, string routingKey, IDictionary<string, object?>? headers)
    {
        (byte[] buffer, int length, _, string id) = writer.Take();
        var message = new Outgoing(routingKey, id, EnvelopeFormat.MessageType, buffer, length, writer.Pool);
        message.Properties.Headers = headers;
        return message;
    }

    public static Outgoing Of(DeadLetterMessage letter, string routingKey)
    {
        byte[] body = letter.Write();
        string id = letter.Id.Length <= 60 ? letter.Id : letter.Id[..60];
        var message = new Outgoing(routingKey, id, DeadLetterMessage.MessageType, body, body.Length);
        message.Properties.ContentType = "application/json";
        return message;
    }

    public void SetHeader(string name, object value) =>
        (Properties.Headers ??= new Dictionary<string, object?>(StringComparer.Ordinal))[name] = value;

    public void Release() => pool?.Return(buffer);
}

/// <summary>
/// The memory of messages that are not confirmed. The shared pool holds a few dozen arrays of a size, and a publisher has hundreds of messages that are
/// not confirmed: most of their arrays would become garbage, old enough for a collection to have copied it.
/// </summary>
internal sealed class MessageBuffers(RabbitWorkQueueOptions options)
{
    private readonly Lock _lock = new();

    // Each message that is not confirmed refers to the pool. When there is none, a collection may take the pool and all that is in it.
    private readonly WeakReference<ArrayPool<byte>> _pool = new(null!);

    /// <summary>The pool. Thread-safe.</summary>
    public ArrayPool<byte> Pool
    {
        get
        {
            lock (_lock)
            {
                if (!_pool.TryGetTarget(out ArrayPool<byte>? pool))
                {
                    // A message grows by doubling.
                    pool = ArrayPool<byte>.Create(2 * options.MaxMessageBytes, options.ConfirmWindow);
                    _pool.SetTarget(pool);
                }

                return pool;
            }
        }
    }
}
