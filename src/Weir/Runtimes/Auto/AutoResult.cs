namespace Weir.Runtimes;

/// <summary>The outcomes of a call of an <see cref="AutoRuntime"/>, and why it ran as it did.</summary>
/// <typeparam name="TResult">The type of the results.</typeparam>
public sealed class AutoResult<TResult>
{
    internal AutoResult(IReadOnlyList<ItemOutcome<TResult>> outcomes, IReadOnlyList<AutoDecision> decisions)
    {
        Outcomes = outcomes;
        Decisions = decisions;
    }

    /// <summary>One outcome per item, in input order.</summary>
    public IReadOnlyList<ItemOutcome<TResult>> Outcomes { get; }

    /// <summary>
    /// What was decided, in the order of time. Empty when the call ended before anything was. Of more than 64 the first and the latest are kept.
    /// </summary>
    public IReadOnlyList<AutoDecision> Decisions { get; }
}
