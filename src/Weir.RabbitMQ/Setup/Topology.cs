using RabbitMQ.Client;

namespace Weir.RabbitMQ;

/// <summary>Declares the exchange and the queues of a work queue, and checks that they exist and match.</summary>
internal sealed class Topology(Broker broker, QueueNames names, RabbitWorkQueueOptions options)
{
    public async Task SetupAsync(CancellationToken cancellationToken)
    {
        IConnection connection = await broker.ConnectAsync("setup", cancellationToken).ConfigureAwait(false);
        try
        {
            bool isNew = !await HasExchangeAsync(connection, cancellationToken).ConfigureAwait(false);
            List<string> declared = [];
            try
            {
                await broker.GuardAsync(async () =>
                {
                    IChannel channel = await connection.CreateChannelAsync(cancellationToken: cancellationToken).ConfigureAwait(false);
                    await DeclareAsync(channel, declared, cancellationToken).ConfigureAwait(false);
                    return true;
                }, cancellationToken).ConfigureAwait(false);
            }
            catch (WorkSetupException) when (isNew)
            {
                // Whoever mends the reason may give the queue other options, which the exchange would refuse.
                await RemoveAsync(connection, declared).ConfigureAwait(false);
                throw;
            }
        }
        finally
        {
            await Broker.CloseAsync(connection).ConfigureAwait(false);
        }
    }

    /// <summary>Only asks whether the names exist, so it needs no rights to declare.</summary>
    public async ValueTask CheckAsync(IConnection connection, CancellationToken cancellationToken) =>
        await broker.OnChannelAsync(connection, async channel =>
        {
            await channel.ExchangeDeclarePassiveAsync(names.Exchange, cancellationToken).ConfigureAwait(false);
            try
            {
                await channel.ExchangeDeclarePassiveAsync(names.Options, cancellationToken).ConfigureAwait(false);
            }
            catch (global::RabbitMQ.Client.Exceptions.OperationInterruptedException e) when (e.ShutdownReason?.ReplyCode == Constants.NotFound)
            {
                throw new WorkSetupException($"{broker.What} was set up with other options than {names.Described}: use the same options, or another name.", e);
            }

            foreach (string queue in Queues())
            {
                await channel.QueueDeclarePassiveAsync(queue, cancellationToken).ConfigureAwait(false);
            }

            return true;
        }, cancellationToken).ConfigureAwait(false);

    private string[] Suspects => options.Partitions == 0 ? [names.Suspects] : [];

    /// <summary>Asks for the messages of each queue that nobody has. It needs no rights to declare.</summary>
    public async ValueTask<WorkStatistics> CountAsync(IConnection connection, CancellationToken cancellationToken) =>
        await broker.OnChannelAsync(
            connection,
            async channel => new WorkStatistics
            {
                WaitingMessages = await CountAsync(channel, [.. names.Work, .. Suspects], cancellationToken).ConfigureAwait(false),
                ScheduledMessages = await CountAsync(channel, names.Retries.Select(static r => r.Queue), cancellationToken).ConfigureAwait(false),
                DeadLetters = await CountAsync(channel, [names.Dead], cancellationToken).ConfigureAwait(false),
            },
            cancellationToken).ConfigureAwait(false);

    private static async ValueTask<long> CountAsync(IChannel channel, IEnumerable<string> queues, CancellationToken cancellationToken)
    {
        long count = 0;
        foreach (string queue in queues)
        {
            count += (await channel.QueueDeclarePassiveAsync(queue, cancellationToken).ConfigureAwait(false)).MessageCount;
        }

        return count;
    }

    public IEnumerable<string> Queues() =>
        [.. names.Work, .. names.Retries.Select(static r => r.Queue), .. Suspects, names.Dead];

    private async ValueTask<bool> HasExchangeAsync(IConnection connection, CancellationToken cancellationToken)
    {
        try
        {
            return await broker.OnChannelAsync(connection, async channel =>
            {
                await channel.ExchangeDeclarePassiveAsync(names.Exchange, cancellationToken).ConfigureAwait(false);
                return true;
            }, cancellationToken).ConfigureAwait(false);
        }
        catch (WorkSetupException)
        {
            return false;
        }
    }

    /// <summary>Removes what a set-up has declared that could not be finished. A queue with messages was somebody's, and stays.</summary>
    private async Task RemoveAsync(IConnection connection, List<string> declared)
    {
        for (int i = 0; i < declared.Count; i++)
        {
            // The first one is the exchange, which may have the name of a queue.
            string name = declared[i];
            bool isExchange = i == 0;
            try
            {
                await broker.OnChannelAsync(connection, async channel =>
                {
                    if (isExchange)
                    {
                        await channel.ExchangeDeleteAsync(name).ConfigureAwait(false);
                    }
                    else if (await channel.QueueDeclarePassiveAsync(name).ConfigureAwait(false) is { MessageCount: 0, ConsumerCount: 0 })
                    {
                        await channel.QueueDeleteAsync(name).ConfigureAwait(false);
                    }

                    return true;
                }, CancellationToken.None).ConfigureAwait(false);
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                // The reason why the set-up failed is what the caller hears of.
            }
        }
    }

    private async Task DeclareAsync(IChannel channel, List<string> declared, CancellationToken cancellationToken)
    {
        // A message that no queue takes goes to the alternate exchange, which has no queues, and so is returned to its publisher. The point is that RabbitMQ
        // compares this name whenever the exchange is declared again.
        try
        {
            await channel.ExchangeDeclareAsync(
                names.Exchange,
                ExchangeType.Direct,
                durable: true,
                autoDelete: false,
                new Dictionary<string, object?> { ["alternate-exchange"] = names.Options },
                cancellationToken: cancellationToken).ConfigureAwait(false);
        }
        catch (global::RabbitMQ.Client.Exceptions.OperationInterruptedException e) when (e.ShutdownReason?.ReplyCode == Constants.PreconditionFailed)
        {
            throw new WorkSetupException(
                $"{broker.What} was set up with other options than {names.Described}: use the same options, or another name. ({e.ShutdownReason.ReplyText})",
                e);
        }

        declared.Add(names.Exchange);
        foreach (string work in names.Work)
        {
            Dictionary<string, object?> arguments = Durable(names.Dead);
            arguments["x-delivery-limit"] = options.DeliveryLimit;
            if (options.Partitions > 0)
            {
                arguments["x-single-active-consumer"] = true;
            }

            if (options.MaxMessages is { } most)
            {
                arguments["x-max-length"] = most;
            }

            await DeclareQueueAsync(channel, declared, work, arguments, cancellationToken).ConfigureAwait(false);
        }

        foreach ((string queue, TimeSpan delay) in names.Retries)
        {
            Dictionary<string, object?> arguments = Durable(names.Work[0]);
            arguments["x-message-ttl"] = (long)delay.TotalMilliseconds;
            await DeclareQueueAsync(channel, declared, queue, arguments, cancellationToken).ConfigureAwait(false);
        }

        if (options.Partitions == 0)
        {
            Dictionary<string, object?> arguments = Durable(names.Dead);
            arguments["x-delivery-limit"] = options.DeliveryLimit;
            await DeclareQueueAsync(channel, declared, names.Suspects, arguments, cancellationToken).ConfigureAwait(false);
        }

        await DeclareQueueAsync(channel, declared, names.Dead, new Dictionary<string, object?> { ["x-queue-type"] = "quorum" }, cancellationToken)
            .ConfigureAwait(false);

        // Declared last: if it exists, everything exists.
        await channel.ExchangeDeclareAsync(names.Options, ExchangeType.Fanout, durable: true, autoDelete: false, cancellationToken: cancellationToken)
            .ConfigureAwait(false);
    }

    private async Task DeclareQueueAsync(
        IChannel channel, List<string> declared, string queue, Dictionary<string, object?> arguments, CancellationToken cancellationToken)
    {
        await channel.QueueDeclareAsync(queue, durable: true, exclusive: false, autoDelete: false, arguments, cancellationToken: cancellationToken)
            .ConfigureAwait(false);
        declared.Add(queue);
        await channel.QueueBindAsync(queue, names.Exchange, queue, cancellationToken: cancellationToken).ConfigureAwait(false);
    }

    /// <summary>The arguments of a queue that passes messages on to another one without losing any.</summary>
    private Dictionary<string, object?> Durable(string next) => new()
    {
        ["x-queue-type"] = "quorum",
        ["x-overflow"] = "reject-publish",
        ["x-dead-letter-strategy"] = "at-least-once",
        ["x-dead-letter-exchange"] = names.Exchange,
        ["x-dead-letter-routing-key"] = next,
    };
}
