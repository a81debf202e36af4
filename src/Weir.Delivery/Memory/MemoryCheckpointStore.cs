using System.Collections.Concurrent;

namespace Weir.Delivery;

/// <summary>Stores positions in memory, for tests and for streams that are always read from the beginning.</summary>
/// <remarks>Thread-safe. The positions are lost when the process ends.</remarks>
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
