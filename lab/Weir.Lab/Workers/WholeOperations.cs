namespace Weir.Lab.Workers;

/// <summary>
/// A window that begins with a common start and ends with the last of its operations, in place of a time that cuts through some: each operation in it is a
/// whole one, so a set can be used up, and what an operation came to can be checked. One of the three says when no more begin.
/// </summary>
internal sealed record WholeOperations
{
    /// <summary>How many operations each worker does.</summary>
    /// <value>At least 1.</value>
    public long? Each { get; init; }

    /// <summary>How many operations all workers do together: who is free does the next.</summary>
    /// <value>At least 1.</value>
    public long? Together { get; init; }

    /// <summary>After what time no more begin. Each worker does one at least.</summary>
    /// <value>Zero or more.</value>
    public TimeSpan? Until { get; init; }

    internal void Validate()
    {
        if ((Each is null ? 0 : 1) + (Together is null ? 0 : 1) + (Until is null ? 0 : 1) != 1)
        {
            throw new ArgumentException($"A window of whole operations has {nameof(Each)}, {nameof(Together)} or {nameof(Until)}, and only one of them.");
        }

        ArgumentOutOfRangeException.ThrowIfLessThan(Each ?? 1, 1, nameof(Each));
        ArgumentOutOfRangeException.ThrowIfLessThan(Together ?? 1, 1, nameof(Together));
        ArgumentOutOfRangeException.ThrowIfLessThan(Until ?? TimeSpan.Zero, TimeSpan.Zero, nameof(Until));
    }
}
