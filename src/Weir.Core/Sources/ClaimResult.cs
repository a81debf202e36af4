namespace Weir.Core.Sources;

/// <summary>The result of an attempt to claim items from a <see cref="Source{T}"/>.</summary>
internal enum ClaimResult
{
    /// <summary>The chunk holds at least one item.</summary>
    Claimed,

    /// <summary>There is nothing more to claim (an item given back later can change that).</summary>
    Empty,

    /// <summary>Another worker is reading the source. It will continue to read, so this one need not wait for its turn.</summary>
    Busy,

    /// <summary>The next item lies at or beyond the ceiling: the consumer of the results has to catch up first.</summary>
    Throttled,

    /// <summary>The source is waiting for its next item. The caller has the turn, and must call OnReady and then FinishClaim.</summary>
    Pending,

    /// <summary>Items were given back while the turn was taken: they come first.</summary>
    Stashed,

    /// <summary>Nothing that has not begun may be claimed for now.</summary>
    Paused,
}
