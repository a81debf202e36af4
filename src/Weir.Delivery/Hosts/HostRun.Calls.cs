using Weir.Runtimes;

namespace Weir.Delivery;

/// <content>The calls of the runtime, and the outcomes of their items.</content>
internal sealed partial class HostRun<T, TResult>
{
    private async Task RunCallAsync(HostCall<T, TResult> call)
    {
        var failures = new HostFailures<T, TResult>(_source, _options);
        try
        {
            if (call.IsAlone && call.Entries[0].Batch.Batch is { Items.Count: 1 } batch && batch.Crashes >= _options.MaxCrashes)
            {
                failures.AddCrash(call.Entries[0]);
                Release(call.Entries[0]);
            }
            else
            {
                await RunItemsAsync(call, failures).ConfigureAwait(false);
            }

            await failures.StoreAsync(_repeater, _running.Token).ConfigureAwait(false);
            lock (_lock)
            {
                failures.SettleNeedsLock();
                _redelivered += failures.Redelivered;
                _deadLettered += failures.DeadLettered;
            }
        }
        catch (OperationCanceledException) when (_running.IsCancellationRequested)
        {
            // Items whose outcome was not stored are not done, and are returned.
        }
        catch (Exception e)
        {
            Fail(e);
        }
        finally
        {
            lock (_lock)
            {
                _calls--;
                _isAlone = false;
            }

            _done.Set();
            StartCalls();
        }
    }

    private async Task RunItemsAsync(HostCall<T, TResult> call, HostFailures<T, TResult> failures)
    {
        // The runtime gets numbers, so that its outcomes are small.
        int[] indices = [.. Enumerable.Range(0, call.Entries.Count)];
        Func<(HostCall<T, TResult> Call, int Index), CancellationToken, ValueTask<TResult>> processAt = HostTrace.HasListeners ? _processTraced : _process;
        ValueTask<TResult> Process(int index, CancellationToken token) => processAt((call, index), token);
        bool[]? hasEnded = null;
        try
        {
            if (_options.PartitionBy is null)
            {
                ItemOutcome<int, TResult>[] outcomes = await _runtime.ProcessManyAsync<int, TResult>(
                    indices, Process, _callOptions, _running.Token).ConfigureAwait(false);
                EndAll(call, outcomes, failures);
                return;
            }

            hasEnded = new bool[indices.Length];

            // One by one, so that the next item of a key does not wait for items of other keys. An item without a key waits for none.
            IAsyncEnumerable<(int Index, ItemOutcome<int, TResult> Outcome)> stream = _runtime.ProcessManyStreamAsync<int, TResult>(
                indices.PartitionBy(index => call.Entries[index].KeyedItems ?? new object()),
                Process,
                orderedOutput: false,
                _callOptions,
                _running.Token);
            await foreach ((int index, ItemOutcome<int, TResult> outcome) in stream.ConfigureAwait(false))
            {
                hasEnded[index] = true;
                End(call.Entries[index], outcome, failures);
                Release(call.Entries[index]);
            }
        }
        catch (OperationCanceledException) when (_running.IsCancellationRequested)
        {
            // The runtime returns no outcomes then, but processed items must not be delivered again.
            for (int i = 0; i < indices.Length; i++)
            {
                if (hasEnded?[i] != true && call.TryGetReturned(i, out TResult result))
                {
                    Succeed(call.Entries[i], result);
                }
            }
        }
    }

    /// <summary>Takes the outcomes of a call, those that succeeded under one lock: it is what the calls and the reader contend for.</summary>
    private void EndAll(HostCall<T, TResult> call, ItemOutcome<int, TResult>[] outcomes, HostFailures<T, TResult> failures)
    {
        int succeeded = 0;
        lock (_lock)
        {
            for (int i = 0; i < outcomes.Length; i++)
            {
                if (outcomes[i].Status == ItemStatus.Succeeded)
                {
                    SucceedNeedsLock(call.Entries[i], outcomes[i].Value);
                    succeeded++;
                }
            }
        }

        for (int i = 0; succeeded < outcomes.Length && i < outcomes.Length; i++)
        {
            if (outcomes[i].Status != ItemStatus.Succeeded)
            {
                End(call.Entries[i], outcomes[i], failures);
            }
        }
    }

    private void End(WorkEntry<T, TResult> entry, ItemOutcome<int, TResult> outcome, HostFailures<T, TResult> failures)
    {
        switch (outcome.Status)
        {
            case ItemStatus.Succeeded:
                Succeed(entry, outcome.Value);
                break;
            case ItemStatus.Cancelled or ItemStatus.NotRun:
                break;
            default:
                Interlocked.Increment(ref _failed);
                failures.Add(entry, outcome.Error!, outcome.Status == ItemStatus.TimedOut);
                break;
        }
    }

    private void Succeed(WorkEntry<T, TResult> entry, TResult result)
    {
        lock (_lock)
        {
            SucceedNeedsLock(entry, result);
        }
    }

    private void SucceedNeedsLock(WorkEntry<T, TResult> entry, TResult result)
    {
        _succeeded++;
        entry.Batch.SetResult(entry.Index, result);
    }

    private void Release(WorkEntry<T, TResult> entry)
    {
        if (entry.KeyedItems is not { } keyed)
        {
            return;
        }

        lock (_lock)
        {
            _backlog.Release(keyed);
        }

        StartCalls();
    }
}
