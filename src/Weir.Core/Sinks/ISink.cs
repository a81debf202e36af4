namespace Weir.Core.Sinks;

/// <summary>
/// Where the outcomes of a run go. A struct given as a type parameter; the calls for different items come from several threads at once,
/// exactly one call for each item that was claimed and not given back.
/// </summary>
internal interface ISink<in TResult>
{
    /// <summary>Items at or beyond this index may not start yet.</summary>
    long Ceiling { get; }

    void Succeeded(long index, TResult result);

    /// <summary>An item ended without a result.</summary>
    void Unsuccessful(long index, ItemStatus status, Exception? error);

    /// <summary>The run is over: no other call comes after this one.</summary>
    void Complete(RunEnd end);
}
