using System.Buffers;

namespace Weir.RabbitMQ;

/// <summary>
/// The memory of messages that are not confirmed. The shared pool keeps a few dozen arrays of a size, and a publisher has hundreds of messages on their way:
/// most of them would become garbage that has lived long enough for a collection to copy it.
/// </summary>
internal sealed class MessageBuffers(RabbitWorkQueueOptions options)
{
    private readonly Lock _lock = new();

    // Each message on its way holds the pool. When there is none, a collection may take the pool with all that is in it.
    private readonly WeakReference<ArrayPool<byte>> _pool = new(null!);

    /// <summary>The pool. Thread-safe.</summary>
    public ArrayPool<byte> Pool
    {
        get
        {
            lock (_lock)
            {
                if (!_pool.TryGetTarget(out ArrayPool<byte>? pool))
                {
                    // A message grows by doubling.
                    pool = ArrayPool<byte>.Create(2 * options.MaxMessageBytes, options.ConfirmWindow);
                    _pool.SetTarget(pool);
                }

                return pool;
            }
        }
    }
}
