namespace Weir.Lab.Trials;

/// <summary>The outcome of one pass over the items of an arm. Count and checksum are compared with what they must be after every pass.</summary>
/// <param name="Count">How many items were accounted for.</param>
/// <param name="Checksum">A sum over the results and the places they were found in.</param>
internal readonly record struct PassResult(long Count, long Checksum)
{
    /// <summary>How many of the items ended with a failure that was meant to happen.</summary>
    public long Failed { get; init; }

    /// <summary>How many of the items ran out of time.</summary>
    public long TimedOut { get; init; }

    /// <summary>The problem that the pass itself found, as a part of a sentence; <see langword="null"/> if there is none.</summary>
    public string? Trouble { get; init; }
}
