using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <summary>
/// What disposes of the results that the caller of a runtime does not get; null unless the options ask for it and the results may be disposable.
/// </summary>
internal static class UnusedOfCall
{
    /// <summary>Those of a call whose outcomes are an array.</summary>
    /// <param name="options">The options of the call.</param>
    /// <param name="policies">Its policies, or null.</param>
    /// <param name="time">The clock of the runtime.</param>
    public static UnusedResults<ItemOutcome<TItem, TResult>>? Outcomes<TItem, TResult>(
        ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        UnusedOf.Asked<TResult>(IsSet(options, policies)) ? new(static outcome => UnusedOf.ResultOf(outcome), PatienceOf(options, policies), time) : null;

    /// <summary>Those of a call whose outcomes are a stream.</summary>
    /// <inheritdoc cref="Outcomes"/>
    public static UnusedResults<(int Index, ItemOutcome<TItem, TResult> Outcome)>? IndexedOutcomes<TItem, TResult>(
        ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        UnusedOf.Asked<TResult>(IsSet(options, policies)) ? new(static item => UnusedOf.ResultOf(item.Outcome), PatienceOf(options, policies), time) : null;

    private static bool IsSet(ProcessManyOptions options, ParallelRunOptions? policies) =>
        options.DisposeUnusedResults || policies is { Output.DisposeUnusedResults: true };

    private static TimeSpan? PatienceOf(ProcessManyOptions options, ParallelRunOptions? policies) =>
        options.PerItemTimeout ?? policies?.PerItemTimeout ?? options.TotalTimeout;
}
