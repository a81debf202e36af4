namespace Weir.Delivery;

/// <summary>Stores the position up to which a change stream has been processed, so that a new process can continue from there.</summary>
/// <remarks>Thread-safe. Each name has one writer at a time.</remarks>
public interface ICheckpointStore
{
    /// <summary>Reads the position of a stream.</summary>
    /// <param name="name">The name of the stream.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The position; <see langword="null"/> if none has been saved.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default);

    /// <summary>Saves the position of a stream, in place of the previous one.</summary>
    /// <param name="name">The name of the stream.</param>
    /// <param name="position">Everything up to it has been processed.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when a crash can no longer undo it.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default);
}
