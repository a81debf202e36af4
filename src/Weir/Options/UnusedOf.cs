using Weir.Core.Sinks;
using Weir.Runtimes;

namespace Weir;

/// <summary>What disposes of the results that a run's caller does not get; null unless the options ask for it and the results may be disposable.</summary>
internal static class UnusedOf
{
    public static UnusedResults<TResult>? Results<TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.DisposeUnusedResults) ? new(static result => result, options.PerItemTimeout, options.TimeProvider) : null;

    /// <summary>The end of a run whose results are a list.</summary>
    public static ListCompletion<TResult> ListOf<TResult>(ParallelRunOptions options, int count) =>
        Results<TResult>(options) is { } unused ? new OwningListCompletion<TResult>(count, unused) : new ListCompletion<TResult>(count);

    public static UnusedResults<ItemOutcome<TResult>>? Outcomes<TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.DisposeUnusedResults) ? new(static outcome => ResultOf(outcome), options.PerItemTimeout, options.TimeProvider) : null;

    public static UnusedResults<(int Index, ItemOutcome<TResult> Outcome)>? IndexedOutcomes<TResult>(ParallelRunOptions options) =>
        Asked<TResult>(options.DisposeUnusedResults) ? new(static item => ResultOf(item.Outcome), options.PerItemTimeout, options.TimeProvider) : null;

    /// <summary>Those of a call of a runtime.</summary>
    /// <param name="options">The options of the call.</param>
    /// <param name="policies">Its policies, or null.</param>
    /// <param name="time">The clock of the runtime.</param>
    public static UnusedResults<ItemOutcome<TResult>>? Outcomes<TResult>(ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        Asked<TResult>(IsSet(options, policies)) ? new(static outcome => ResultOf(outcome), PatienceOf(options, policies), time) : null;

    public static UnusedResults<(int Index, ItemOutcome<TResult> Outcome)>? IndexedOutcomes<TResult>(
        ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        Asked<TResult>(IsSet(options, policies)) ? new(static item => ResultOf(item.Outcome), PatienceOf(options, policies), time) : null;

    private static bool Asked<TResult>(bool isSet) => isSet && DiscardedResult<TResult>.MayBeDisposable;

    // The default value of a disposable structure is no result.
    private static object? ResultOf<TResult>(in ItemOutcome<TResult> outcome) => outcome.IsSuccess ? outcome.Value : null;

    private static bool IsSet(ProcessManyOptions options, ParallelRunOptions? policies) =>
        options.DisposeUnusedResults || policies is { DisposeUnusedResults: true };

    private static TimeSpan? PatienceOf(ProcessManyOptions options, ParallelRunOptions? policies) =>
        options.PerItemTimeout ?? policies?.PerItemTimeout ?? options.BatchTimeout;
}
