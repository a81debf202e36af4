namespace Weir.Core.Sinks;

/// <summary>The end of a run whose caller gets each outcome. An item's failure is not thrown, but a failure of the source is.</summary>
/// <param name="count">How many items there are; 0 if that is not known.</param>
/// <param name="returnsWhenCancelled">Whether a run that its caller cancels returns the outcomes it has, instead of throwing.</param>
internal class OutcomeCompletion<TItem, TResult>(int count, bool returnsWhenCancelled = false) : TaskCompletionSource<ItemOutcome<TItem, TResult>[]>
{
    public ItemOutcome<TItem, TResult>[] Outcomes = count > 0 ? new ItemOutcome<TItem, TResult>[count] : [];

    /// <summary>Whether the caller gets outcomes.</summary>
    public bool Returns(RunEnd end) => end.HasResults || (returnsWhenCancelled && end.Result == RunResult.Cancelled);

    /// <summary>Completes with outcomes that are stored elsewhere. They are collected only if they are returned.</summary>
    public void Complete<TState>(RunEnd end, TState state, Func<RunEnd, TState, ItemOutcome<TItem, TResult>[]> gather)
    {
        if (UsesOutcomes(end))
        {
            Outcomes = gather(end, state);
        }

        Complete(end);
    }

    public void Complete(RunEnd end)
    {
        if (Returns(end))
        {
            TrySetResult(Outcomes);
        }
        else
        {
            CompleteWithoutOutcomes(end);
        }
    }

    /// <summary>Whether anybody needs the outcomes.</summary>
    protected virtual bool UsesOutcomes(RunEnd end) => Returns(end);

    /// <summary>Completes the caller's task where the caller gets no outcome.</summary>
    protected virtual void CompleteWithoutOutcomes(RunEnd end)
    {
        if (end.Result == RunResult.Cancelled)
        {
            TrySetCanceled(end.Cancelled!.Value);
        }
        else
        {
            TrySetException(end.Failures!.Single!);
        }
    }
}
