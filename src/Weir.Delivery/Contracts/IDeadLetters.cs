namespace Weir.Delivery;

/// <summary>Items that could not be processed, until somebody looks at them.</summary>
/// <remarks>Thread-safe. The number kept is bounded only where the implementation says so.</remarks>
public interface IDeadLetters
{
    /// <summary>Stores letters. One with an identity that is there already replaces it, so that storing twice does no harm.</summary>
    /// <param name="letters">The letters.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when they are stored durably.</returns>
    ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default);

    /// <summary>Lists letters, the oldest first.</summary>
    /// <param name="limit">How many at most; at least 1.</param>
    /// <param name="cancellationToken">Ends the enumeration.</param>
    /// <returns>The letters. Those that are added or removed meanwhile may or may not be among them.</returns>
    IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default);

    /// <summary>Finds a letter.</summary>
    /// <param name="id">The identity of the item.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The letter; <see langword="null"/> if there is none.</returns>
    ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default);

    /// <summary>Publishes items again, at attempt 1, and removes their letters after that. A crash in between leaves both.</summary>
    /// <param name="ids">The identities of the items.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How many were there and have been published.</returns>
    ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default);

    /// <summary>Removes letters for good.</summary>
    /// <param name="ids">The identities of the items.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How many were there.</returns>
    ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default);
}
