using RabbitMQ.Client;
using Weir.RabbitMQ;

namespace Weir.Delivery.Cli.Engines;

/// <summary>Queues in RabbitMQ, by an address of AMQP.</summary>
internal static class RabbitEngine
{
    /// <summary>How many partitions a queue with an order has: that is how many consumers can work on it at once.</summary>
    private const int Partitions = 16;

    private const int MessagesPerCall = 100;

    private static readonly (string Scheme, string Amqp)[] Schemes = [("amqp", "amqp"), ("amqps", "amqps"), ("rabbitmq", "amqp")];

    public static WorkEngine Engine { get; } = new(
        "rabbitmq",
        "WEIR_RABBITMQ",
        "amqp://USER@HOST/VHOST",
        static address => Schemes.Any(s => address.StartsWith($"{s.Scheme}://", StringComparison.OrdinalIgnoreCase)),
        Open);

    private static OpenedQueue Open(OptionValue address, EngineOrder order)
    {
        Uri broker = Broker(address);
        RabbitWorkQueueOptions options = new() { Partitions = order.KeepsKeyOrder ? Partitions : 0, OnNotice = order.OnNotice };
        if (order.ItemsPerMessage is { } items)
        {
            options = options with { MaxItemsPerMessage = items };
        }

        return order.Schema is null
            ? new OpenedQueue
            {
                Queue = new RabbitWorkQueue<string>(broker, order.Name, WorkSerializer.Text, options),
                IsDurable = true,
                MessagesPerCall = MessagesPerCall,
                DropAsync = order.IsTemporary ? stop => DropAsync(broker, order.Name, options, stop) : null,
            }
            : throw new BadInputException("--schema is for PostgreSQL; in RabbitMQ, the virtual host in the address keeps queues apart.");
    }

    /// <summary>Deletes all that <see cref="RabbitWorkQueue{T}.SetupAsync"/> declares. What is not there is no error.</summary>
    internal static async Task DropAsync(IChannel channel, string name, RabbitWorkQueueOptions options, CancellationToken stop)
    {
        string[] delays = options.Partitions > 0
            ? []
            : [.. options.RetryDelays.Select(static d => ((long)d.TotalMilliseconds).ToString(CultureInfo.InvariantCulture))];
        string[] queues = options.Partitions > 0
            ? [.. Enumerable.Range(0, options.Partitions).Select(i => string.Create(CultureInfo.InvariantCulture, $"{name}.{i}"))]
            : [name, $"{name}.suspects", .. delays.Select(d => $"{name}.retry.{d}")];
        foreach (string queue in (string[])[.. queues, $"{name}.dead"])
        {
            await channel.QueueDeleteAsync(queue, ifUnused: false, ifEmpty: false, cancellationToken: stop);
        }

        // The second has the options of the queue in its name.
        await channel.ExchangeDeleteAsync(name, cancellationToken: stop);
        await channel.ExchangeDeleteAsync(
            string.Create(
                CultureInfo.InvariantCulture,
                $"{name}.v1-p{options.Partitions}-d{options.DeliveryLimit}-m{options.MaxMessages ?? 0}-r{string.Join('-', delays)}"),
            cancellationToken: stop);
    }

    private static async ValueTask DropAsync(Uri broker, string name, RabbitWorkQueueOptions options, CancellationToken stop)
    {
        await using IConnection connection = await new ConnectionFactory { Uri = broker }.CreateConnectionAsync(stop);
        await using IChannel channel = await connection.CreateChannelAsync(cancellationToken: stop);
        await DropAsync(channel, name, options, stop);
    }

    /// <summary>The broker that an address means.</summary>
    /// <exception cref="BadInputException">It cannot be read. Neither it nor its parts are in the message.</exception>
    internal static Uri Broker(OptionValue address)
    {
        string scheme = address.Text[..Math.Max(0, address.Text.IndexOf("://", StringComparison.Ordinal))];
        string? amqp = Array.Find(Schemes, s => s.Scheme.Equals(scheme, StringComparison.OrdinalIgnoreCase)).Amqp;
        return amqp is not null && Uri.TryCreate($"{amqp}{address.Text[scheme.Length..]}", UriKind.Absolute, out Uri? uri)
            && uri.Host.Length > 0 && uri.Segments.Length <= 2 && uri.UserInfo.Split(':').Length <= 2
            ? uri
            : throw new BadInputException($"{address.Source} must be an address such as amqp://USER:PASSWORD@HOST:5672/VHOST, or amqps:// for TLS, with what "
                + "is special in a name or a password percent-encoded; it cannot be read, and is not shown because it may have a password.");
    }
}
