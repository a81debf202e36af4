using RabbitMQ.Client;

namespace Weir.Lab.Queues.Arms;

/// <summary>What all arms on RabbitMQ have in common.</summary>
internal static class BrokerQueues
{
    /// <summary>Declares a quorum queue with an exchange of its name, as a receive endpoint of MassTransit does when it starts.</summary>
    public static async Task DeclareAsync(QueueAddress address)
    {
        await using IConnection connection = await new ConnectionFactory { Uri = new Uri(address.Server) }.CreateConnectionAsync();
        await using IChannel channel = await connection.CreateChannelAsync();
        Dictionary<string, object?> quorum = new() { ["x-queue-type"] = "quorum" };
        await channel.QueueDeclareAsync(address.Queue, durable: true, exclusive: false, autoDelete: false, quorum);
        await channel.ExchangeDeclareAsync(address.Queue, ExchangeType.Fanout, durable: true);
        await channel.QueueBindAsync(address.Queue, address.Queue, routingKey: "");
    }

    /// <summary>Deletes queues, and the exchanges of the same names. What is not there is no error.</summary>
    public static async Task DeleteAsync(QueueAddress address, IReadOnlyList<string> names)
    {
        await using IConnection connection = await new ConnectionFactory { Uri = new Uri(address.Server) }.CreateConnectionAsync();
        await using IChannel channel = await connection.CreateChannelAsync();
        foreach (string name in names)
        {
            await channel.QueueDeleteAsync(name, ifUnused: false, ifEmpty: false);
            await channel.ExchangeDeleteAsync(name);
        }
    }
}
