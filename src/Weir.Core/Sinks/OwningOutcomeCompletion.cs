namespace Weir.Core.Sinks;

/// <summary>As its base, but disposes of the results of a run whose caller gets no outcomes, before the caller's task ends.</summary>
internal sealed class OwningOutcomeCompletion<TItem, TResult>(int count, bool returnsWhenCancelled, UnusedResults<ItemOutcome<TItem, TResult>> unused)
    : OutcomeCompletion<TItem, TResult>(count, returnsWhenCancelled)
{
    protected override bool UsesOutcomes(RunEnd end) => true;

    protected override void CompleteWithoutOutcomes(RunEnd end)
    {
        Task disposing = unused.DisposeAsync(Outcomes);
        if (disposing.IsCompleted)
        {
            base.CompleteWithoutOutcomes(end);
        }
        else
        {
            disposing.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => base.CompleteWithoutOutcomes(end));
        }
    }
}
