using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text.Json;
using RabbitMQ.Client;
using RabbitMQ.Client.Exceptions;

namespace Weir.RabbitMQ;

/// <summary>
/// The dead letters, in a queue. In AMQP, one can read messages only by taking them, so each operation takes all of them and returns them at its end. One
/// connection does so at a time. Some messages are dead letters, and others are whole messages that RabbitMQ put there because no worker could read them or
/// survive them.
/// </summary>
internal sealed class RabbitDeadLetters(Broker broker, Publisher publisher, QueueNames names, RabbitWorkQueueOptions options) : IDeadLetters
{
    private static readonly TimeSpan LockPause = TimeSpan.FromMilliseconds(50);

    public ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(letters);
        return publisher.PublishAsync(letters.Select(l => Outgoing.Of(DeadLetterMessage.Of(l), names.Dead)), cancellationToken);
    }

    public IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default)
    {
        Require.AtLeastOne(limit, nameof(limit));
        return ListAllAsync(limit, cancellationToken);
    }

    public async ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(id);
        DeadLetterMessage? found = null;
        await LookAsync(
            (letter, _) => found = letter.Id == id && (found is null || letter.Time >= found.Time) ? letter : found, static _ => default, cancellationToken)
            .ConfigureAwait(false);
        return found?.ToLetter();
    }

    public ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) =>
        TakeAsync(ids, letters => publisher.PublishAsync(letters.Select(Replay), cancellationToken), cancellationToken);

    public ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) =>
        TakeAsync(ids, static _ => default, cancellationToken);

    private async IAsyncEnumerable<DeadLetter> ListAllAsync(int limit, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        // The first pass finds the identities whose newest dead letter is among the oldest. The second keeps only the dead letters of these in memory.
        Dictionary<string, DateTimeOffset> newest = new(StringComparer.Ordinal);
        await LookAsync((letter, _) => KeepNewest(newest, letter.Id, letter.Time), static _ => default, cancellationToken).ConfigureAwait(false);
        HashSet<string> oldest =
            [.. newest.OrderBy(static n => n.Value).ThenBy(static n => n.Key, StringComparer.Ordinal).Take(limit).Select(static n => n.Key)];
        Dictionary<string, DeadLetterMessage> letters = new(StringComparer.Ordinal);
        await LookAsync(
            (letter, _) =>
            {
                if (oldest.Contains(letter.Id) && (!letters.TryGetValue(letter.Id, out DeadLetterMessage? other) || letter.Time >= other.Time))
                {
                    letters[letter.Id] = letter;
                }
            },
            static _ => default,
            cancellationToken).ConfigureAwait(false);
        foreach (DeadLetterMessage letter in letters.Values.OrderBy(static l => l.Time).ThenBy(static l => l.Id, StringComparer.Ordinal))
        {
            cancellationToken.ThrowIfCancellationRequested();
            yield return letter.ToLetter();
        }
    }

    private static void KeepNewest(Dictionary<string, DateTimeOffset> newest, string id, DateTimeOffset time)
    {
        if (!newest.TryGetValue(id, out DateTimeOffset other) || time > other)
        {
            newest[id] = time;
        }
    }

    private async ValueTask<int> TakeAsync(
        IReadOnlyList<string> ids, Func<IReadOnlyCollection<DeadLetterMessage>, ValueTask> use, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(ids);
        HashSet<string> wanted = [.. ids];
        Dictionary<string, DeadLetterMessage> found = new(StringComparer.Ordinal);
        List<ulong> tags = [];
        await LookAsync(
            (letter, tag) =>
            {
                if (wanted.Contains(letter.Id))
                {
                    tags.Add(tag);
                    if (!found.TryGetValue(letter.Id, out DeadLetterMessage? other) || letter.Time >= other.Time)
                    {
                        found[letter.Id] = letter;
                    }
                }
            },
            async channel =>
            {
                await use(found.Values).ConfigureAwait(false);
                foreach (ulong tag in tags)
                {
                    await channel.BasicAckAsync(tag, multiple: false, cancellationToken).ConfigureAwait(false);
                }
            },
            cancellationToken).ConfigureAwait(false);
        return found.Count;
    }

    /// <summary>Reads each dead letter once, then calls the rest with the channel, and returns what was not acknowledged.</summary>
    private async ValueTask LookAsync(Action<DeadLetterMessage, ulong> look, Func<IChannel, ValueTask> then, CancellationToken cancellationToken)
    {
        IConnection connection = await broker.ConnectAsync("dead letters", cancellationToken).ConfigureAwait(false);
        try
        {
            await broker.GuardAsync(async () =>
            {
                await LockAsync(connection, cancellationToken).ConfigureAwait(false);
                IChannel channel = await connection.CreateChannelAsync(cancellationToken: cancellationToken).ConfigureAwait(false);
                while (await channel.BasicGetAsync(names.Dead, autoAck: false, cancellationToken).ConfigureAwait(false) is { } message)
                {
                    look(Read(message), message.DeliveryTag);
                }

                await then(channel).ConfigureAwait(false);

                // When RabbitMQ has answered, it has got everything back.
                await channel.CloseAsync(cancellationToken).ConfigureAwait(false);
                return true;
            }, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            await Broker.CloseAsync(connection).ConfigureAwait(false);
        }
    }

    /// <summary>Declares the queue that only one connection can have, and that is deleted with the connection.</summary>
    private async ValueTask LockAsync(IConnection connection, CancellationToken cancellationToken)
    {
        while (true)
        {
            IChannel channel = await connection.CreateChannelAsync(cancellationToken: cancellationToken).ConfigureAwait(false);
            try
            {
                await channel.QueueDeclareAsync(names.DeadLock, durable: false, exclusive: true, autoDelete: true, cancellationToken: cancellationToken)
                    .ConfigureAwait(false);
                return;
            }
            catch (OperationInterruptedException e) when (e.ShutdownReason?.ReplyCode == Constants.ResourceLocked)
            {
                await Task.Delay(LockPause, options.TimeProvider, cancellationToken).ConfigureAwait(false);
            }
        }
    }

    private DeadLetterMessage Read(BasicGetResult message)
    {
        if (message.BasicProperties.Type == DeadLetterMessage.MessageType)
        {
            try
            {
                return DeadLetterMessage.Read(message.Body.Span);
            }
            catch (JsonException)
            {
                // Written by another program: shown as it is.
            }
        }

        return ReadMessage(message);
    }

    private DeadLetterMessage ReadMessage(BasicGetResult message)
    {
        (string reason, string queue, DateTimeOffset time) = Death(message.BasicProperties.Headers);
        (DeadLetterReason why, string error) = Unreadable.Find(message.Body.Span, options)
            ?? (reason == "delivery_limit" ? DeadLetterReason.Crashed : DeadLetterReason.Failed, $"RabbitMQ gave up the message in queue '{queue}': {reason}.");
        string name = message.BasicProperties.MessageId is { Length: > 0 } id ? id : Convert.ToHexStringLower(SHA256.HashData(message.Body.Span))[..16];
        return new DeadLetterMessage
        {
            Id = $"message {name}",
            Source = queue,
            Reason = why.ToString(),
            Error = error,
            Time = time,
            IsMessage = true,
            Payload = message.Body.ToArray(),
        };
    }

    [SuppressMessage("Design", "CA1859", Justification = "What RabbitMQ sends is what the client makes of it.")]
    private static (string Reason, string Queue, DateTimeOffset Time) Death(IDictionary<string, object?>? headers)
    {
        if (headers is not null && headers.TryGetValue("x-death", out object? value) && value is IList<object?> { Count: > 0 } deaths
            && deaths[0] is IDictionary<string, object?> last)
        {
            return (Text(last, "reason"), Text(last, "queue"), last.TryGetValue("time", out object? time) && time is AmqpTimestamp stamp
                ? DateTimeOffset.FromUnixTimeSeconds(Math.Clamp(stamp.UnixTime, 0, 253402300799))
                : DateTimeOffset.UnixEpoch);
        }

        return ("unknown", "", DateTimeOffset.UnixEpoch);
    }

    private static string Text(IDictionary<string, object?> table, string name) =>
        table.TryGetValue(name, out object? value) ? value switch { byte[] bytes => EnvelopeFormat.Readable(bytes), string text => text, _ => "" } : "";

    private Outgoing Replay(DeadLetterMessage letter)
    {
        if (letter.IsMessage)
        {
            byte[] body = letter.Payload.ToArray();
            string queue = names.Work.Contains(letter.Source) ? letter.Source : names.Work[0];
            return new Outgoing(queue, letter.Id["message ".Length..], EnvelopeFormat.MessageType, body, body.Length);
        }

        var writer = new EnvelopeWriter(publisher.Buffers);
        WorkId id = WorkId.Parse(letter.Id);
        writer.Add(id, letter.Key, 1, letter.Headers, letter.Payload.Span);
        return Outgoing.Of(writer, names.PartitionOf(letter.Key, id), headers: null);
    }
}
