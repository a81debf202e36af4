namespace Weir.Core.Sinks;

/// <summary>A sink whose caller gets the outcome of each item.</summary>
internal interface IOutcomeSink<TResult> : ISink<TResult>
{
    /// <summary>Takes an outcome in place of the two methods for it.</summary>
    void Add(long index, ItemOutcome<TResult> outcome);

    /// <summary>Whether the caller gets the outcomes of items that never ran, which nobody has given the sink yet.</summary>
    bool ReturnsNotRun(RunEnd end);
}
