using System.Globalization;
using System.Text;
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

/// <summary>The names of the exchange and the queues of a work queue. The routing key of each queue is its name.</summary>
internal sealed class QueueNames
{
    // A name in AMQP has at most 255 bytes, of which the suffixes need some.
    private const int MaxBytes = 120;

    public QueueNames(string name, RabbitWorkQueueOptions options)
    {
        Exchange = Check(name);
        Work = options.Partitions == 0
            ? [name]
            : [.. Enumerable.Range(0, options.Partitions).Select(i => string.Create(CultureInfo.InvariantCulture, $"{name}.{i}"))];
        Suspects = $"{name}.suspects";
        Dead = $"{name}.dead";
        DeadLock = $"{name}.dead.lock";
        Retries = options.Partitions > 0
            ? []
            : [.. options.RetryDelays.Select(d => (string.Create(CultureInfo.InvariantCulture, $"{name}.retry.{(long)d.TotalMilliseconds}"), d))];
        string delays = string.Join('-', Retries.Select(static r => ((long)r.Delay.TotalMilliseconds).ToString(CultureInfo.InvariantCulture)));

        // Short, because the text in which RabbitMQ says what does not match is cut off at 255 bytes.
        Options = string.Create(
            CultureInfo.InvariantCulture, $"{name}.v1-p{options.Partitions}-d{options.DeliveryLimit}-m{options.MaxMessages ?? 0}-r{delays}");
        Described = string.Create(
            CultureInfo.InvariantCulture,
            $"Partitions {options.Partitions}, DeliveryLimit {options.DeliveryLimit}, MaxMessages {options.MaxMessages ?? 0}, RetryDelays {delays} ms");
    }

    /// <summary>Where everything is published; it has the name of the work queue.</summary>
    public string Exchange { get; }

    /// <summary>The queue of the items, or one for each partition.</summary>
    public IReadOnlyList<string> Work { get; }

    /// <summary>The queues in which items wait for their next attempt, and how long they do.</summary>
    public IReadOnlyList<(string Queue, TimeSpan Delay)> Retries { get; }

    /// <summary>Messages that were delivered and neither acknowledged nor returned: a process may have died of them.</summary>
    public string Suspects { get; }

    public string Dead { get; }

    /// <summary>A queue that only one connection can have at a time: the one that reads the dead letters.</summary>
    public string DeadLock { get; }

    /// <summary>An exchange without queues. Its name has the options that the queues depend on, so it exists only if they were declared with these.</summary>
    public string Options { get; }

    /// <summary>These options, for messages.</summary>
    public string Described { get; }

    public string PartitionOf(string? key, WorkId id)
    {
        if (Work.Count == 1)
        {
            return Work[0];
        }

        // The same for all processes and versions.
        uint hash = 2166136261;
        foreach (char c in key ?? id.Origin)
        {
            hash = (hash ^ c) * 16777619;
        }

        hash = key is null ? (hash ^ (uint)id.Index) * 16777619 : hash;
        return Work[(int)((hash ^ (hash >> 15)) % (uint)Work.Count)];
    }

    public string RetryOf(TimeSpan delay)
    {
        if (delay <= TimeSpan.Zero)
        {
            return Work[0];
        }

        foreach ((string queue, TimeSpan tier) in Retries)
        {
            if (tier >= delay)
            {
                return queue;
            }
        }

        return Retries[^1].Queue;
    }

    private static string Check(string name)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        bool isValid;
        try
        {
            // RabbitMQ takes line breaks out, so the queue would have another name than the one that is asked for later.
            isValid = EnvelopeFormat.Text.GetByteCount(name) <= MaxBytes
                && !name.StartsWith("amq.", StringComparison.Ordinal)
                && name.AsSpan().IndexOfAny('\r', '\n') < 0;
        }
        catch (EncoderFallbackException)
        {
            isValid = false;
        }

        return isValid
            ? name
            : throw new ArgumentException(
                $"name must be a text of at most {MaxBytes} bytes of UTF-8 without line breaks that does not begin with 'amq.'.", nameof(name));
    }
}
