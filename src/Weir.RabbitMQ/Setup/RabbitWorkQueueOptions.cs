using RabbitMQ.Client;

namespace Weir.RabbitMQ;

/// <summary>The options of a <see cref="RabbitWorkQueue{T}"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
/// <remarks>
/// <see cref="Partitions"/>, <see cref="DeliveryLimit"/>, <see cref="RetryDelays"/> and <see cref="MaxMessages"/> are part of the queue: all who open it must
/// say the same.
/// </remarks>
public sealed record RabbitWorkQueueOptions
{
    /// <summary>How many messages a source has at least, unless the options say otherwise.</summary>
    internal const int LeastPrefetch = 32;

    private const int MostPrefetch = 200;

    // As many as a host has in flight by default, and as many again that are here when it is done with those.
    private const int UsualItems = 16_384;

    /// <summary>The maximum number of items in a message.</summary>
    /// <value>From 1 to 10,000. The default is 256.</value>
    public int MaxItemsPerMessage { get; init; } = 256;

    /// <summary>The number of bytes at which a message is full. An item that is longer than that gets a message of its own.</summary>
    /// <value>From 1 KiB to 16 MiB. The default is 128 KiB.</value>
    public int MaxMessageBytes { get; init; } = 128 * 1024;

    /// <summary>
    /// The maximum number of bytes of an item's value. A longer one cannot be published, and one that is delivered becomes a dead letter. Identity, key and
    /// headers of an item have 64 KiB besides.
    /// </summary>
    /// <value>From 1 to 64 MiB. The default is 1 MiB.</value>
    public int MaxItemBytes { get; init; } = 1 << 20;

    /// <summary>The maximum number of messages that were published and not yet confirmed, for the whole queue object. Publishing waits beyond it.</summary>
    /// <value>From 1 to 65,535. The default is 512. They need up to this times <see cref="MaxMessageBytes"/> of memory.</value>
    public int ConfirmWindow { get; init; } = 512;

    /// <summary>The maximum number of messages that a source has and did not acknowledge; in each partition, its share of that.</summary>
    /// <value>From 1 to 2,000; <see langword="null"/>, the default, for as many full messages as have 16,384 items, from 32 to 200.</value>
    public int? Prefetch { get; init; }

    /// <summary>
    /// How long RabbitMQ waits for a message to be acknowledged before it closes the channel: <c>consumer_timeout</c> in its <c>rabbitmq.conf</c>. A source
    /// takes no more than it has acknowledged by half of that, at its pace so far, and publishes again what it cannot acknowledge in time.
    /// </summary>
    /// <value>From 1 minute to 365 days. The default is 30 minutes, as that of RabbitMQ.</value>
    public TimeSpan ConsumerTimeout { get; init; } = TimeSpan.FromMinutes(30);

    /// <summary>
    /// The number of queues among which the items are distributed by their keys. Each has one active consumer at a time, so the items of a key are delivered
    /// in the order in which they were published.
    /// </summary>
    /// <value>From 0 to 256. The default, 0, is one queue without order, with any number of active consumers.</value>
    /// <remarks>A host of such a queue also needs <see cref="WorkHostOptions{T}.PartitionBy"/>. Items are not redelivered with a delay.</remarks>
    public int Partitions { get; init; }

    /// <summary>
    /// How often a message can be delivered again without being acknowledged until RabbitMQ itself makes it a dead letter. It is the last resort for messages
    /// that kill a process before they can be examined.
    /// </summary>
    /// <value>From 5 to 1,000, and more than <see cref="WorkHostOptions{T}.MaxCrashes"/>. The default is 20.</value>
    public int DeliveryLimit { get; init; } = 20;

    /// <summary>The delays that there are between attempts: a queue for each. A redelivery waits for the next longer one, or for the longest.</summary>
    /// <value>From 1 to 10, rising, each from 1 millisecond to 1 day. The default is 1 and 10 seconds, 1 minute and 10 minutes, as that of a host.</value>
    public IReadOnlyList<TimeSpan> RetryDelays { get; init; } = DefaultAttempts.Delays;

    /// <summary>How many messages the queue, or each of its partitions, holds until RabbitMQ refuses more.</summary>
    /// <value>At least 1; <see langword="null"/>, the default, for as many as the disk of the broker has room for.</value>
    public int? MaxMessages { get; init; }

    /// <summary>How long a call that publishes keeps trying to get a connection. Each success starts this time anew.</summary>
    /// <value>More than zero. The default is 30 seconds. The call's cancellation token ends it before.</value>
    public TimeSpan ReconnectTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Changes the settings of each connection before it is opened: TLS, heartbeat, limits. It can be called by several threads at once.</summary>
    /// <value><see langword="null"/>, the default, for none. Automatic recovery is always off: the queue opens a new connection itself.</value>
    public Action<ConnectionFactory>? ConfigureConnection { get; init; }

    /// <summary>
    /// Called with a sentence when there is something to know that is no error: the broker takes no messages because of an alarm, such as for a full disk, so
    /// calls that publish wait, and when it takes them again.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. It must return quickly. Its exceptions are ignored.</value>
    public Action<string>? OnNotice { get; init; }

    /// <summary>The clock for pauses between attempts to connect, and for looking for suspect messages.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>. The delays between attempts of items are kept by RabbitMQ.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>How many messages a source has that it did not acknowledge, in all partitions: <see cref="Prefetch"/>, or what that is by default.</summary>
    internal int MessagesAtOnce => Prefetch ?? Math.Clamp(UsualItems / MaxItemsPerMessage, LeastPrefetch, MostPrefetch);

    /// <summary>The most bytes that a message of this queue has, also one whose items have got the trace context of the message that they came in.</summary>
    internal int LargestMessage => Math.Max(MaxMessageBytes, EnvelopeFormat.HeaderLength + EnvelopeFormat.MaxItemHead + MaxItemBytes) + MessageTrace.MaxBytes;

    internal void Notice(string sentence)
    {
        try
        {
            OnNotice?.Invoke(sentence);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // It is the user's, and changes nothing.
        }
    }

    internal void Validate()
    {
        Require.Range(MaxItemsPerMessage is >= 1 and <= 10_000, MaxItemsPerMessage, nameof(MaxItemsPerMessage), "from 1 to 10,000");
        Require.Range(MaxMessageBytes is >= 1024 and <= 16 << 20, MaxMessageBytes, nameof(MaxMessageBytes), "from 1,024 to 16,777,216");
        Require.Range(MaxItemBytes is >= 1 and <= 64 << 20, MaxItemBytes, nameof(MaxItemBytes), "from 1 to 67,108,864");
        Require.Range(ConfirmWindow is >= 1 and <= 65_535, ConfirmWindow, nameof(ConfirmWindow), "from 1 to 65,535");
        Require.Range((Prefetch ?? 1) is >= 1 and <= 2000, Prefetch, nameof(Prefetch), "from 1 to 2,000");
        Require.Range(
            ConsumerTimeout >= TimeSpan.FromMinutes(1) && ConsumerTimeout <= TimeSpan.FromDays(365),
            ConsumerTimeout,
            nameof(ConsumerTimeout),
            "from 1 minute to 365 days");
        Require.Range(Partitions is >= 0 and <= 256, Partitions, nameof(Partitions), "from 0 to 256");
        Require.Range(DeliveryLimit is >= 5 and <= 1000, DeliveryLimit, nameof(DeliveryLimit), "from 5 to 1,000");
        Require.Range(MaxMessages is null or >= 1, MaxMessages, nameof(MaxMessages), "at least 1, or null for no limit");
        Require.Positive(ReconnectTimeout, nameof(ReconnectTimeout));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        ArgumentNullException.ThrowIfNull(RetryDelays, nameof(RetryDelays));
        Require.Range(RetryDelays.Count is >= 1 and <= 10, RetryDelays.Count, nameof(RetryDelays), "a list of 1 to 10 delays");
        for (int i = 0; i < RetryDelays.Count; i++)
        {
            TimeSpan delay = RetryDelays[i];
            TimeSpan least = (i == 0 ? TimeSpan.Zero : RetryDelays[i - 1]) + TimeSpan.FromMilliseconds(1);
            Require.Range(
                delay >= least && delay <= TimeSpan.FromDays(1),
                delay,
                nameof(RetryDelays),
                "from 1 millisecond to 1 day, each longer than the one before");
        }
    }
}
