using System.Globalization;
using System.Text;

namespace Weir.RabbitMQ;

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
