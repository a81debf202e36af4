using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Policies;

namespace Weir.Operators;

/// <content>Runs whose caller gets the outcome of each item.</content>
internal static partial class OperatorRun
{
    public static Task<ItemOutcome<TItem, TResult>[]> Outcomes<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "")
    {
        CheckTypes<TItem, TResult>(options);
        TaskCalls.RefuseTasks(typeof(TResult), call);
        if (cancellationToken.IsCancellationRequested && !options.Output.ReturnOutcomesOnCancellation)
        {
            return Task.FromCanceled<ItemOutcome<TItem, TResult>[]>(cancellationToken);
        }

        if (source.IsExhausted && !RunObservation.IsNoticed(options))
        {
            return Task.FromResult<ItemOutcome<TItem, TResult>[]>([]);
        }

        int count = Math.Max(0, source.KnownCount);
        OutcomeCompletion<TItem, TResult> completion = options.Output.DisposeUnusedResults && UnusedOf.Outcomes<TItem, TResult>(options) is { } unused
            ? new OwningOutcomeCompletion<TItem, TResult>(count, options.Output.ReturnOutcomesOnCancellation, unused)
            : new OutcomeCompletion<TItem, TResult>(count, options.Output.ReturnOutcomesOnCancellation);

        // The outcomes already report the failures, so no mode stops the run or collects them again.
        PumpSettings settings = Settings(options, ErrorMode.BestEffort, operation);
        ItemRecords? records = options.Output.IncludeDetails ? new(options.TimeProvider) : null;
        OutcomeMaker<TItem, TResult> maker = new(source, keepsAll: true, records is null ? null : records.DetailsOf);
        if (source.KnownCount > 0)
        {
            Start(source, selector, new OutcomeSink<TItem, TResult>(completion, maker), options, settings, records, operation, cancellationToken);
        }
        else
        {
            Start(source, selector, new GrowingOutcomeSink<TItem, TResult>(completion, maker), options, settings, records, operation, cancellationToken);
        }

        return completion.Task;
    }

    public static Task<ItemOutcome<TItem>[]> ActionOutcomes<TItem>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "")
    {
        CheckAction<TItem>(options);
        return TaskCalls.WithoutResults(Outcomes(source, TaskCalls.AsSelector<TItem, Nothing>(action), options, cancellationToken, operation));
    }

    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> OutcomesStream<TItem, TResult>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "") =>
        StreamOf<TItem, TResult, (int Index, ItemOutcome<TItem, TResult> Outcome)>(
            options,
            (output, enumeratorToken) =>
            {
                Source<TItem> items = source();
                ItemRecords? records = options.Output.IncludeDetails ? new(options.TimeProvider) : null;
                return Start(
                    items,
                    selector,
                    new OutcomeStreamSink<TItem, TResult>(
                        output, items.KnownCount, new(items, keepsAll: false, records is null ? null : records.DetailsOf)),
                    options,
                    StreamSettings(options, ErrorMode.BestEffort, output, operation),
                    records,
                    operation,
                    cancellationToken,
                    enumeratorToken);
            },
            options.Output.DisposeUnusedResults ? UnusedOf.IndexedOutcomes<TItem, TResult>(options) : null,
            call,
            cancellationToken);
}
