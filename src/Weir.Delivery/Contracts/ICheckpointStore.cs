namespace Weir.Delivery;

/// <summary>Stores the position up to which a change stream has been processed, so that a new process can continue from there.</summary>
/// <remarks>
/// Thread-safe. Each name has one writer at a time. A store that has <see cref="Locks"/> keeps a second run away; with one that has none, whoever starts runs has
/// to see to it. If two runs with one name go on at once all the same, nothing is left out, but each does what the other one has done, and the next run repeats
/// what the later save did not know of.
/// </remarks>
public interface ICheckpointStore
{
    /// <summary>What keeps a second run away from a name.</summary>
    /// <value><see langword="null"/> if the store cannot do that.</value>
    ICheckpointLocks? Locks => null;

    /// <summary>Reads the position of a stream.</summary>
    /// <param name="name">The name of the stream.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The position; <see langword="null"/> if none has been saved. It is the last one that was saved, also by a process that was killed then.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default);

    /// <summary>Saves the position of a stream, in place of the previous one: whole, or not at all.</summary>
    /// <param name="name">The name of the stream.</param>
    /// <param name="position">Everything up to it has been processed.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when a crash can no longer undo it.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default);
}

/// <summary>Gives each name of an <see cref="ICheckpointStore"/> to one run at a time, of all processes that use the store.</summary>
/// <remarks>Thread-safe.</remarks>
public interface ICheckpointLocks
{
    /// <summary>Takes a name, if nobody has it.</summary>
    /// <param name="name">The name.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// The lock, which is given back when it is disposed of, and when its process ends, however it does; <see langword="null"/> if somebody else has the name.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<ICheckpointLock?> TryLockAsync(string name, CancellationToken cancellationToken = default);
}

/// <summary>A name that a run has.</summary>
public interface ICheckpointLock : IAsyncDisposable
{
    /// <summary>Looks whether the lock is still held. A run calls it before each save, and stops if it is not.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes if it is held, and fails if it was lost, for example with the connection that held it.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask CheckAsync(CancellationToken cancellationToken = default);
}
