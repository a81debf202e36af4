namespace Weir.Runtimes;

/// <summary>The outcomes of a call of an <see cref="AutoRuntime"/>, and the decisions on how it ran. Immutable.</summary>
/// <typeparam name="TItem">The type of the items.</typeparam>
/// <typeparam name="TResult">The type of the results.</typeparam>
public sealed class AutoResult<TItem, TResult>
{
    internal AutoResult(IReadOnlyList<ItemOutcome<TItem, TResult>> outcomes, IReadOnlyList<AutoDecision> decisions)
    {
        Outcomes = outcomes;
        Decisions = decisions;
    }

    /// <summary>One outcome per item, in input order.</summary>
    public IReadOnlyList<ItemOutcome<TItem, TResult>> Outcomes { get; }

    /// <summary>
    /// The decisions, in chronological order. Empty if the call ended before the first decision. If there are more than 64, the first and the latest are kept.
    /// </summary>
    public IReadOnlyList<AutoDecision> Decisions { get; }
}
