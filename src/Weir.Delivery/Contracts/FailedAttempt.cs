namespace Weir.Delivery;

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
