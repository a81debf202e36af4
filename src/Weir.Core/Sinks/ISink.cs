namespace Weir.Core.Sinks;

/// <summary>
/// Receives the outcomes of a run. It is a struct, passed as a type parameter. The calls for different items come from several threads at once,
/// exactly one call for each item that was claimed and not given back.
/// </summary>
internal interface ISink<TResult>
{
    /// <summary>Whether results are stored in memory by index, so that a worker can store those of a chunk there itself.</summary>
    bool HasSlots { get; }

    /// <summary>Items at or beyond this index may not start yet.</summary>
    long Ceiling { get; }

    /// <summary>The slots for the results of a chunk, if there are slots. Valid until the next suspension.</summary>
    Span<TResult> Slots(long first, int count);

    /// <summary>How many ended items have a result that has not been taken yet. For statistics.</summary>
    long Undelivered(long ended);

    void Succeeded(long index, TResult result);

    /// <summary>An item ended without a result.</summary>
    void Unsuccessful(long index, ItemStatus status, Exception? error);

    /// <summary>
    /// The run has ended. No other call follows this one, unless it throws. Then it is called once more, with <see cref="RunEnd.Broken"/>, so that code that
    /// waits for the run learns of it.
    /// </summary>
    void Complete(RunEnd end);
}
