namespace Weir.Core.Sinks;

/// <summary>
/// Where the outcomes of a run go. A struct given as a type parameter; the calls for different items come from several threads at once,
/// exactly one call for each item that was claimed and not given back.
/// </summary>
/// <remarks>No member has a body here, and none is static: what a struct does not have itself cannot be compiled ahead of time.</remarks>
internal interface ISink<TResult>
{
    /// <summary>Whether results lie in memory by index, so that a worker may store those of a chunk there itself.</summary>
    bool HasSlots { get; }

    /// <summary>Items at or beyond this index may not start yet.</summary>
    long Ceiling { get; }

    /// <summary>Where the results of a chunk go, when there are slots. Valid until the next suspension.</summary>
    Span<TResult> Slots(long first, int count);

    /// <summary>How many of the items that have ended have a result that nobody has taken yet. For statistics.</summary>
    long Undelivered(long ended);

    void Succeeded(long index, TResult result);

    /// <summary>An item ended without a result.</summary>
    void Unsuccessful(long index, ItemStatus status, Exception? error);

    /// <summary>
    /// The run is over: no other call comes after this one, unless it throws. Then it is called once more, with <see cref="RunEnd.Broken"/>, so that whoever waits for the run
    /// learns of it.
    /// </summary>
    void Complete(RunEnd end);
}
