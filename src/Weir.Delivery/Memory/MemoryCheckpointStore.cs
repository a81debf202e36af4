using System.Collections.Concurrent;

namespace Weir.Delivery;

/// <summary>Keeps positions in memory, for tests and for streams that are read from their beginning each time.</summary>
/// <remarks>Thread-safe. A new process begins without them.</remarks>
public sealed class MemoryCheckpointStore : ICheckpointStore
{
    private readonly ConcurrentDictionary<string, string> _positions = new(StringComparer.Ordinal);

    /// <inheritdoc/>
    public ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default) => new(_positions.GetValueOrDefault(name));

    /// <inheritdoc/>
    public ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default)
    {
        _positions[name] = position;
        return default;
    }
}
