using System.Diagnostics.CodeAnalysis;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;

namespace Weir.RabbitMQ;

/// <summary>One connection that publishes, and the messages that it has not confirmed. Sends are made one at a time.</summary>
[SuppressMessage("Design", "CA1001", Justification = "A source of cancellation without a timer holds nothing.")]
internal sealed class PublishLink
{
    private readonly IConnection _connection;
    private readonly IChannel _channel;
    private readonly Action<Outgoing> _settled;
    private readonly Action<IReadOnlyList<Outgoing>, ShutdownEventArgs?> _lost;
    private readonly Lock _lock = new();
    private readonly Dictionary<ulong, Outgoing> _outstanding = [];
    private readonly CancellationTokenSource _ended = new();
    private ulong _last;
    private ulong _lowest = 1;
    private bool _isClosed;

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
