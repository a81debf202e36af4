using Weir.Core;
using Weir.Core.Sinks;

namespace Weir;

/// <summary>What disposes of the results that a run's caller does not get; null unless the options ask for it and the results may be disposable.</summary>
internal static class UnusedOf
{
    public static UnusedResults<TResult>? Results<TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.Output.DisposeUnusedResults) ? new(static result => result, options.PerItemTimeout, options.TimeProvider) : null;

    /// <summary>The end of a run whose results are a list.</summary>
    public static ListCompletion<TResult> ListOf<TResult>(ParallelRunOptions options, int count) =>
        Results<TResult>(options) is { } unused ? new OwningListCompletion<TResult>(count, unused) : new ListCompletion<TResult>(count);

    public static UnusedResults<ItemOutcome<TItem, TResult>>? Outcomes<TItem, TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.Output.DisposeUnusedResults) ? new(static outcome => ResultOf(outcome), options.PerItemTimeout, options.TimeProvider) : null;

    public static UnusedResults<(int Index, ItemOutcome<TItem, TResult> Outcome)>? IndexedOutcomes<TItem, TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.Output.DisposeUnusedResults) ? new(static item => ResultOf(item.Outcome), options.PerItemTimeout, options.TimeProvider) : null;

    public static bool Asked<TResult>(bool isSet) => isSet && DiscardedResult<TResult>.MayBeDisposable;

    // The default value of a disposable structure is no result.
    public static object? ResultOf<TItem, TResult>(in ItemOutcome<TItem, TResult> outcome) => outcome.IsSuccess ? outcome.Value : null;
}
