namespace Weir;

/// <summary>How an item of a run came to its outcome. Immutable.</summary>
public sealed class ItemDetails
{
    internal ItemDetails(long index, int attempts, TimeSpan duration, Exception? error)
    {
        Index = index;
        Attempts = attempts;
        Duration = duration;
        Error = error;
    }

    /// <summary>The item's position in the source, from 0.</summary>
    public long Index { get; }

    /// <summary>
    /// How often the item's call was made. 0 for an item that never got as far, for example because it was given up while it waited for a circuit breaker, a
    /// concurrency limit or a rate limit, or because its start hook threw.
    /// </summary>
    public int Attempts { get; }

    /// <summary>
    /// From the moment when the run began with the item until it had its outcome, with all attempts, hooks and waits, by the run's clock. Zero for an item that
    /// the run never began with.
    /// </summary>
    public TimeSpan Duration { get; }

    /// <summary>The item's exception, which an outcome with details has here.</summary>
    internal Exception? Error { get; }

    /// <inheritdoc/>
    public override string ToString() => $"item {Index}, {Attempts} attempts, {Duration}";
}
