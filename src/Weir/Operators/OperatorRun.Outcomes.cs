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
    public static Task<ItemOutcome<TResult>[]> Outcomes<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "")
    {
        CheckTypes<TItem, TResult>(options);
        TaskCalls.RefuseTasks(typeof(TResult), call);
        if (cancellationToken.IsCancellationRequested && !options.ReturnOutcomesOnCancellation)
        {
            return Task.FromCanceled<ItemOutcome<TResult>[]>(cancellationToken);
        }

        if (source.IsExhausted && !RunObservation.IsNoticed(options))
        {
            return Task.FromResult<ItemOutcome<TResult>[]>([]);
        }

        int count = Math.Max(0, source.KnownCount);
        OutcomeCompletion<TResult> completion = options.DisposeUnusedResults && UnusedOf.Outcomes<TResult>(options) is { } unused
            ? new OwningOutcomeCompletion<TResult>(count, options.ReturnOutcomesOnCancellation, unused)
            : new OutcomeCompletion<TResult>(count, options.ReturnOutcomesOnCancellation);

        // The outcomes already report the failures, so no mode stops the run or collects them again.
        PumpSettings settings = Settings(options, ErrorMode.BestEffort, operation);
        if (options.IncludeDetails)
        {
            StartDetailed(source, selector, completion, options, settings, operation, cancellationToken);
        }
        else if (source.KnownCount > 0)
        {
            StartKnown(source, selector, completion, options, settings, operation, cancellationToken);
        }
        else
        {
            StartGrowing(source, selector, completion, options, settings, operation, cancellationToken);
        }

        return completion.Task;
    }

    private static void StartKnown<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        OutcomeCompletion<TResult> completion,
        ParallelRunOptions options,
        PumpSettings settings,
        string operation,
        CancellationToken cancellationToken)
    {
        if (IsPlain(options, settings))
        {
            RunRecovery<TResult>? recovery = RunRecovery<TResult>.Of(options, null);
            PlainRun.Start(source, selector, new OutcomeSink<TResult>(completion), settings, recovery, cancellationToken);
        }
        else
        {
            Start(source, selector, new OutcomeSink<TResult>(completion), options, settings, null, operation, cancellationToken);
        }
    }

    private static void StartGrowing<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        OutcomeCompletion<TResult> completion,
        ParallelRunOptions options,
        PumpSettings settings,
        string operation,
        CancellationToken cancellationToken)
    {
        if (IsPlain(options, settings))
        {
            RunRecovery<TResult>? recovery = RunRecovery<TResult>.Of(options, null);
            PlainRun.Start(source, selector, new GrowingOutcomeSink<TResult>(completion), settings, recovery, cancellationToken);
        }
        else
        {
            Start(source, selector, new GrowingOutcomeSink<TResult>(completion), options, settings, null, operation, cancellationToken);
        }
    }

    public static IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> OutcomesStream<TItem, TResult>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "") =>
        StreamOf<TItem, TResult, (int Index, ItemOutcome<TResult> Outcome)>(
            options,
            (output, enumeratorToken) =>
            {
                Source<TItem> items = source();
                if (options.IncludeDetails)
                {
                    return StartDetailed(items, selector, output, options, operation, cancellationToken, enumeratorToken);
                }

                output.Missing = (items.KnownCount, static index => (Indices.ToInt(index), default));
                return Start(
                    items,
                    selector,
                    new OutcomeStreamSink<TResult>(output),
                    options,
                    StreamSettings(options, ErrorMode.BestEffort, output, operation),
                    null,
                    operation,
                    cancellationToken,
                    enumeratorToken);
            },
            options.DisposeUnusedResults ? UnusedOf.IndexedOutcomes<TResult>(options) : null,
            call,
            cancellationToken);

    private static void StartDetailed<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        OutcomeCompletion<TResult> completion,
        ParallelRunOptions options,
        PumpSettings settings,
        string operation,
        CancellationToken cancellationToken)
    {
        ItemRecords records = new(options.TimeProvider);
        int count = source.KnownCount;
        if (count > 0)
        {
            DetailedSink<TResult, OutcomeSink<TResult>> sink = new(new OutcomeSink<TResult>(completion), records, count);
            Start(source, selector, sink, options, settings, records, operation, cancellationToken);
        }
        else
        {
            DetailedSink<TResult, GrowingOutcomeSink<TResult>> sink = new(new GrowingOutcomeSink<TResult>(completion), records, count);
            Start(source, selector, sink, options, settings, records, operation, cancellationToken);
        }
    }

    private static Pump StartDetailed<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        StreamOutput<(int Index, ItemOutcome<TResult> Outcome)> output,
        ParallelRunOptions options,
        string operation,
        CancellationToken cancellationToken,
        CancellationToken enumeratorToken)
    {
        ItemRecords records = new(options.TimeProvider);
        int count = source.KnownCount;
        output.Missing = (count, index => (Indices.ToInt(index), ItemOutcome<TResult>.With(default, ItemStatus.NotRun, records.DetailsOf(index, null))));
        DetailedSink<TResult, OutcomeStreamSink<TResult>> sink = new(new OutcomeStreamSink<TResult>(output), records, count);
        PumpSettings settings = StreamSettings(options, ErrorMode.BestEffort, output, operation);
        return Start(source, selector, sink, options, settings, records, operation, cancellationToken, enumeratorToken);
    }
}
