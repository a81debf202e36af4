namespace Weir.RabbitMQ;

/// <summary>
/// The messages that the broker may deliver once more although their batch is still here: by the name of their copy, or by their own identity if the broker has
/// taken them away. A bounded number, of which the oldest are forgotten. Guarded by the lock of the source.
/// </summary>
internal sealed class AwayMessages<T>
{
    private const int Most = 4096;

    // Null for a batch that is done.
    private readonly Dictionary<string, RabbitBatch<T>?> _batches = new(StringComparer.Ordinal);
    private readonly Queue<string> _order = new();

    /// <summary>Adds a message, unless it has no name or its name is known.</summary>
    public void Add(string? name, RabbitBatch<T>? batch)
    {
        if (name is not null && _batches.TryAdd(name, batch))
        {
            _order.Enqueue(name);
            if (_order.Count > Most)
            {
                _batches.Remove(_order.Dequeue());
            }
        }
    }

    /// <summary>The batch of a message is done: when the message comes, nothing of it is here.</summary>
    public void End(string name)
    {
        if (_batches.ContainsKey(name))
        {
            _batches[name] = null;
        }
    }

    /// <summary>Takes a message out: it has come, or will not.</summary>
    /// <returns>False if it is not known.</returns>
    public bool TryTake(string name, out RabbitBatch<T>? batch) => _batches.Remove(name, out batch);
}
