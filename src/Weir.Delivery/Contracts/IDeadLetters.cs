namespace Weir.Delivery;

/// <summary>Stores the items that could not be processed, so that you can inspect, replay or remove them.</summary>
/// <remarks>Thread-safe. The number of letters is bounded only if the implementation says so.</remarks>
public interface IDeadLetters
{
    /// <summary>Stores letters. A letter replaces an earlier one with the same identity, so it is safe to store a letter twice.</summary>
    /// <param name="letters">The letters.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when they are stored durably.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default);

    /// <summary>Lists letters, the oldest first.</summary>
    /// <param name="limit">How many at most; at least 1.</param>
    /// <param name="cancellationToken">Ends the enumeration.</param>
    /// <returns>The letters. Letters that are added or removed during the enumeration may or may not be included.</returns>
    IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default);

    /// <summary>Finds a letter.</summary>
    /// <param name="id">The identity of the item.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The letter; <see langword="null"/> if there is none.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default);

    /// <summary>Publishes items again, as attempt 1, and then removes their letters. After a crash in between, both exist.</summary>
    /// <param name="ids">The identities of the items.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The number of letters that were found and published.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default);

    /// <summary>Removes letters for good.</summary>
    /// <param name="ids">The identities of the items.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The number of letters that were found.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default);
}
