using System.Collections.Concurrent;

namespace Weir.Delivery;

/// <summary>Stores positions in memory, for tests and for streams that are always read from the beginning.</summary>
/// <remarks>Thread-safe. The positions are lost when the process ends.</remarks>
public sealed class MemoryCheckpointStore : ICheckpointStore, ICheckpointLocks
{
    private readonly ConcurrentDictionary<string, string> _positions = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, Held> _held = new(StringComparer.Ordinal);

    /// <inheritdoc/>
    public ICheckpointLocks Locks => this;

    /// <inheritdoc/>
    public ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default) => new(_positions.GetValueOrDefault(name));

    /// <inheritdoc/>
    public ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default)
    {
        _positions[name] = position;
        return default;
    }

    /// <inheritdoc/>
    ValueTask<ICheckpointLock?> ICheckpointLocks.TryLockAsync(string name, CancellationToken cancellationToken)
    {
        Held held = new(this, name);
        return new(_held.TryAdd(name, held) ? held : null);
    }

    private sealed class Held(MemoryCheckpointStore store, string name) : ICheckpointLock
    {
        public ValueTask CheckAsync(CancellationToken cancellationToken = default) => default;

        public ValueTask DisposeAsync()
        {
            store._held.TryRemove(KeyValuePair.Create(name, this));
            return default;
        }
    }
}
