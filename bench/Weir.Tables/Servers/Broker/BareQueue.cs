using System.Buffers.Binary;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;

namespace Weir.Tables.Servers.Broker;

/// <summary>What a program does without Weir: RabbitMQ.Client alone, as fast as it goes with the same guarantees, or without one of them.</summary>
internal sealed record BareQueue
{
    /// <summary>How many messages are unconfirmed at a time, how many a consumer has, and how many it acknowledges at once. Weir has the same.</summary>
    public const int Window = 512;
    public const ushort Prefetch = 200;
    public const int AckEvery = 20;

    private const string Origin = "0199f3a2b4c5d6e7f8091a2b3c4d5e6f";

    public required Uri Broker { get; init; }

    public required string Queue { get; init; }

    public required int BodyBytes { get; init; }

    /// <summary>How many items a message has, each with its length before it; 0 for a body that is one value.</summary>
    public int Items { get; init; }

    public int ItemBytes { get; init; }

    public bool Confirms { get; init; } = true;

    public bool Persistent { get; init; } = true;

    public bool Mandatory { get; init; } = true;

    public bool Identities { get; init; } = true;

    public async Task<TimeSpan> RunAsync(int messages)
    {
        var factory = new ConnectionFactory { Uri = Broker, AutomaticRecoveryEnabled = false };
        await using IConnection publishing = await factory.CreateConnectionAsync();
        await using IConnection consuming = await factory.CreateConnectionAsync();
        var all = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        IChannel channel = await consuming.CreateChannelAsync();
        await channel.BasicQosAsync(0, Prefetch, global: false);
        int got = 0;
        var consumer = new AsyncEventingBasicConsumer(channel);
        consumer.ReceivedAsync += async (_, e) =>
        {
            Read(e.Body.Span);
            if (++got % AckEvery == 0 || got == messages)
            {
                await channel.BasicAckAsync(e.DeliveryTag, multiple: true);
            }

            if (got == messages)
            {
                all.TrySetResult();
            }
        };
        await channel.BasicConsumeAsync(Queue, autoAck: false, consumer);
        IChannel sending = await publishing.CreateChannelAsync(new CreateChannelOptions(Confirms, publisherConfirmationTrackingEnabled: false));
        long start = Stopwatch.GetTimestamp();
        await Task.Run(() => PublishAsync(sending, messages));
        await all.Task;
        return Stopwatch.GetElapsedTime(start);
    }

    /// <summary>Takes the items out of a message. The client takes the memory of the body back, so a program has to copy what it keeps.</summary>
    private void Read(ReadOnlySpan<byte> body)
    {
        if (Items == 0)
        {
            GC.KeepAlive(body.ToArray());
        }

        for (int item = 0; item < Items; item++)
        {
            int length = BinaryPrimitives.ReadUInt16LittleEndian(body);
            GC.KeepAlive(body.Slice(sizeof(ushort), length).ToArray());
            body = body[(sizeof(ushort) + length)..];
        }
    }

    private void Write(Span<byte> body, ReadOnlySpan<byte> value)
    {
        for (int item = 0; item < Items; item++)
        {
            BinaryPrimitives.WriteUInt16LittleEndian(body, (ushort)value.Length);
            value.CopyTo(body[sizeof(ushort)..]);
            body = body[(sizeof(ushort) + value.Length)..];
        }
    }

    private async Task PublishAsync(IChannel channel, int messages)
    {
        using var window = new SemaphoreSlim(Window);
        var confirmed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        ulong last = 0;
        int count = 0;
        channel.BasicAcksAsync += (_, e) =>
        {
            int some = e.Multiple ? (int)(e.DeliveryTag - last) : 1;
            last = Math.Max(last, e.DeliveryTag);
            count += some;
            window.Release(some);
            if (count == messages)
            {
                confirmed.TrySetResult();
            }

            return Task.CompletedTask;
        };
        byte[] body = new byte[BodyBytes];
        byte[] value = new byte[ItemBytes];
        for (int i = 0; i < messages; i++)
        {
            if (Confirms)
            {
                await window.WaitAsync();
            }

            var properties = new BasicProperties { DeliveryMode = Persistent ? DeliveryModes.Persistent : DeliveryModes.Transient };
            if (Identities)
            {
                properties.MessageId = FormattableString.Invariant($"{Origin}/{i}");
            }

            Write(body, value);
            await channel.BasicPublishAsync("", Queue, Mandatory, properties, body);
        }

        if (Confirms)
        {
            await confirmed.Task;
        }
    }
}
