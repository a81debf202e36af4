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

/// <summary>An item that could not be processed, with the information that you need to diagnose the failure and to publish the item again.</summary>
public sealed record DeadLetter
{
    /// <summary>The identity of the item; for a message that could not be read, the name that the source gives it.</summary>
    public required string Id { get; init; }

    /// <summary>The name of the queue or stream that it came from.</summary>
    public required string Source { get; init; }

    /// <summary>Why it could not be processed.</summary>
    public required DeadLetterReason Reason { get; init; }

    /// <summary>The last exception, with its stack; empty where there is none.</summary>
    public string Error { get; init; } = "";

    /// <summary>
    /// The number of attempts, not counting crashes: how often the item was delivered and failed. The calls that <see cref="WorkHostOptions{T}.Retry"/> or the
    /// runtime's policies make at once after a failure belong to one attempt.
    /// </summary>
    public int Attempts { get; init; } = 1;

    /// <summary>
    /// How often the processor was called in the last attempt. Known when the letter is stored (<see cref="WorkHostOptions{T}.OnDeadLetter"/>); 0 for a
    /// letter that was read from a queue, and for an item that was not called.
    /// </summary>
    public int Calls { get; init; }

    /// <summary>When the item became a dead letter.</summary>
    public required DateTimeOffset Time { get; init; }

    /// <summary>The key of the item; <see langword="null"/> for none.</summary>
    public string? Key { get; init; }

    /// <summary>The item's value as its serializer writes it, or the bytes of a message that could not be read.</summary>
    public required ReadOnlyMemory<byte> Payload { get; init; }

    /// <summary>The headers of the item; <see langword="null"/> for none.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; init; }
}

/// <summary>Why an item could not be processed.</summary>
public enum DeadLetterReason
{
    /// <summary>It failed at every attempt.</summary>
    Failed,

    /// <summary>It failed in a way that another attempt cannot fix.</summary>
    Rejected,

    /// <summary>It exceeded its time limit at every attempt.</summary>
    TimedOut,

    /// <summary>The process died repeatedly while the item ran alone.</summary>
    Crashed,

    /// <summary>The message could not be read.</summary>
    Undecodable,

    /// <summary>The message is longer than the limit.</summary>
    TooLarge,
}

/// <summary>An attempt of an item that has failed.</summary>
public sealed record FailedAttempt
{
    /// <summary>The identity of the item.</summary>
    public required string Id { get; init; }

    /// <summary>The name of the source.</summary>
    public required string Source { get; init; }

    /// <summary>The key of the item, if it has one.</summary>
    public string? Key { get; init; }

    /// <summary>Which attempt it was: 1 for the first.</summary>
    public required int Attempt { get; init; }

    /// <summary>What it failed with, also after immediate retries: the error of the last.</summary>
    public required Exception Error { get; init; }

    /// <summary>How long the item waits for its next attempt; <see langword="null"/> if it becomes a dead letter.</summary>
    public TimeSpan? NextAttemptIn { get; init; }
}
