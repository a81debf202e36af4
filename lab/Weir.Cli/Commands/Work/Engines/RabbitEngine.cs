using Weir.Cli.Hosting;
using Weir.Cli.Options;
using Weir.Delivery;
using Weir.RabbitMQ;
using static Weir.Cli.Commands.Work.Engines.WorkEngines;

namespace Weir.Cli.Commands.Work.Engines;

/// <summary>Queues in RabbitMQ, by an address of AMQP.</summary>
internal static class RabbitEngine
{
    /// <summary>How many partitions a queue with an order has: that is how many consumers can work on it at once.</summary>
    private const int Partitions = 16;

    private static readonly (string Scheme, string Amqp)[] Schemes = [("amqp", "amqp"), ("amqps", "amqps"), ("rabbitmq", "amqp")];

    public static WorkEngine Engine { get; } = new(
        "amqp://USER@HOST/VHOST",
        static address => Schemes.Any(s => address.StartsWith($"{s.Scheme}://", StringComparison.OrdinalIgnoreCase)),
        Open);

    private static OpenedQueue Open(OptionValue address, EngineOrder order)
    {
        Uri broker = Broker(address);
        RabbitWorkQueueOptions options = new() { Partitions = order.KeepsKeyOrder ? Partitions : 0 };
        return order.Schema is null
            ? new OpenedQueue { Queue = new RabbitWorkQueue<string>(broker, order.Name, WorkSerializer.Text, options), IsDurable = true }
            : throw new BadInputException("--schema is for PostgreSQL; in RabbitMQ, the virtual host in the address keeps queues apart.");
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
                + "is special in a name or a password percent-encoded; it cannot be read, and is not repeated here.");
    }
}
