using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Observability;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>
/// The spans and call durations of one call of a runtime that does not use the engine for each item. There is one only if somebody listens when the call
/// starts: the items then have their numbers with them, and each is processed inside its span.
/// </summary>
internal sealed class TracedItems<TItem, TResult> : IWrapped
{
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _processor;
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _measured;
    private readonly RunTrace? _trace;
    private RunSample _counts;
    private bool _hasTimedOut;

    private TracedItems(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        string operation,
        string runtime,
        int limit,
        ProcessManyOptions options)
    {
        RunLabel label = RunLabel.Of(operation, runtime, options.OperationName, options.Tags);
        ParallelRunOptions about = ParallelRunOptions.Default with
        {
            MaxDegreeOfParallelism = limit,
            OperationName = options.OperationName,
            Tags = options.Tags,
        };
        RunObservation observation = RunObservation.Begin(about, label, items is IReadOnlyCollection<TItem> known ? known.Count : -1);
        observation.Started();
        _trace = observation.Trace;
        _processor = processor;
        _measured = observation.MeasuresCalls ? MeasuredCalls.Of(label, processor) : processor;
        Items = NumberedItems<TItem>.Of(items);
    }

    public Delegate Call => _processor;

    public IEnumerable<NumberedItem<TItem>> Items { get; }

    /// <summary>A call whose result is a task.</summary>
    public static async Task<TOutcomes> CallAsync<TOutcomes>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        string runtime,
        int limit,
        ProcessManyOptions options,
        Func<TracedItems<TItem, TResult>, Task<TOutcomes>> call,
        Func<TOutcomes, IReadOnlyList<ItemOutcome<TResult>>> outcomesOf)
    {
        TracedItems<TItem, TResult> traced = new(items, processor, nameof(IExecutionRuntime.ProcessManyAsync), runtime, limit, options);
        Exception? failure = null;
        try
        {
            TOutcomes all = await call(traced).ConfigureAwait(false);
            IReadOnlyList<ItemOutcome<TResult>> outcomes = outcomesOf(all);
            for (int index = 0; index < outcomes.Count; index++)
            {
                traced.Ended(index, outcomes[index]);
            }

            return all;
        }
        catch (Exception error)
        {
            failure = error;
            throw;
        }
        finally
        {
            traced.End(failure);
        }
    }

    /// <summary>A call whose results are a stream. It begins with the stream's first step.</summary>
    public static async IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)> StreamAsync(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        string runtime,
        int limit,
        ProcessManyOptions options,
        Func<TracedItems<TItem, TResult>, IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)>> call,
        [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        TracedItems<TItem, TResult> traced = new(items, processor, nameof(IExecutionRuntime.ProcessManyStreamAsync), runtime, limit, options);
        Exception? failure = null;
        bool isComplete = false;
        try
        {
            IAsyncEnumerator<(int Index, ItemOutcome<TResult> Outcome)> outcomes = call(traced).GetAsyncEnumerator(cancellationToken);
            await using (outcomes.ConfigureAwait(false))
            {
                while (true)
                {
                    try
                    {
                        if (!await outcomes.MoveNextAsync().ConfigureAwait(false))
                        {
                            isComplete = true;
                            break;
                        }
                    }
                    catch (Exception error)
                    {
                        failure = error;
                        throw;
                    }

                    traced.Ended(outcomes.Current.Index, outcomes.Current.Outcome);
                    yield return outcomes.Current;
                }
            }
        }
        finally
        {
            // Its consumer may have left.
            traced.End(failure, isCancelled: !isComplete && failure is null);
        }
    }

    /// <summary>Processes an item inside its span.</summary>
    public async ValueTask<TResult> InvokeAsync(NumberedItem<TItem> item, CancellationToken cancellationToken)
    {
        if (_trace?.AttemptBegins(item.Index, isFirst: true) is not { } span)
        {
            return await _measured(item.Item, cancellationToken).ConfigureAwait(false);
        }

        // What becomes of an item that was given up is known with its outcome. Its span lasts until it was given up.
        long began = Stopwatch.GetTimestamp();
        using CancellationTokenRegistration atEnd = cancellationToken.UnsafeRegister(_ => GivenUpNow(span.Activity, began), null);
        try
        {
            TResult result = await _measured(item.Item, cancellationToken).ConfigureAwait(false);
            CallEnded(item.Index, span, null, cancellationToken.IsCancellationRequested);
            return result;
        }
        catch (Exception error)
        {
            CallEnded(item.Index, span, error, cancellationToken.IsCancellationRequested);
            throw;
        }
    }

    private static void GivenUpNow(Activity span, long began) => SafeCall.Invoke(
        static end => end.Span.SetEndTime(end.Span.StartTimeUtc + end.Lasted), (Span: span, Lasted: Stopwatch.GetElapsedTime(began)));

    private void CallEnded(long index, ItemTrace span, Exception? error, bool isGivenUp)
    {
        RunTrace.AttemptEnded(span, error);
        if (!isGivenUp)
        {
            _trace!.ItemEnded(index, error is null ? ItemStatus.Succeeded : ItemStatus.Failed, error);
        }
    }

    private void Ended(int index, in ItemOutcome<TResult> outcome)
    {
        if (outcome.IsSuccess)
        {
            _counts.Succeeded++;
        }
        else if (outcome.Status != ItemStatus.NotRun)
        {
            _counts.Unsuccessful++;
            _counts.Cancelled += outcome.Status == ItemStatus.Cancelled ? 1 : 0;
            _hasTimedOut |= outcome.Error?.InnerException is RunTimeoutException;
        }

        _trace?.ItemEnded(index, outcome.Status, outcome.Error);
    }

    private void End(Exception? failure, bool isCancelled = false)
    {
        string outcome = isCancelled || failure is OperationCanceledException || (failure is null && _counts.Cancelled > 0) ? "cancelled"
            : failure is not null ? "failed"
            : _hasTimedOut ? "timed_out"
            : "completed";
        _trace?.End(_counts, outcome, failure is OperationCanceledException ? null : failure);
    }
}
