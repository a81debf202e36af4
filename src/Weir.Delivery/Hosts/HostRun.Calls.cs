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
                _calls.Remove(call);
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
        try
        {
            if (_options.PartitionBy is null)
            {
                ItemOutcome<int, TResult>[] outcomes = await _runtime.ProcessManyAsync<int, TResult>(
                    indices, Process, _callOptions, _running.Token).ConfigureAwait(false);
                EndAll(call, outcomes, failures);
                return;
            }

            // One by one, so that the next item of a key does not wait for items of other keys. An item without a key waits for none.
            IAsyncEnumerable<(int Index, ItemOutcome<int, TResult> Outcome)> stream = _runtime.ProcessManyStreamAsync<int, TResult>(
                indices.PartitionBy(index => call.Entries[index].KeyedItems ?? new object()),
                Process,
                orderedOutput: false,
                _callOptions,
                _running.Token);
            await foreach ((int index, ItemOutcome<int, TResult> outcome) in stream.ConfigureAwait(false))
            {
                End(call, index, outcome, failures);
                Release(call.Entries[index]);
            }
        }
        catch (OperationCanceledException) when (_running.IsCancellationRequested)
        {
            // The runtime returns no outcomes then, but processed items must not be delivered again.
            lock (_lock)
            {
                SucceedAllReturnedNeedsLock(call);
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
                    SucceedNeedsLock(call, i, outcomes[i].Value);
                    succeeded++;
                }
            }
        }

        for (int i = 0; succeeded < outcomes.Length && i < outcomes.Length; i++)
        {
            if (outcomes[i].Status != ItemStatus.Succeeded)
            {
                End(call, i, outcomes[i], failures);
            }
        }
    }

    private void End(HostCall<T, TResult> call, int index, ItemOutcome<int, TResult> outcome, HostFailures<T, TResult> failures)
    {
        if (outcome.Status is ItemStatus.Cancelled or ItemStatus.NotRun)
        {
            return;
        }

        lock (_lock)
        {
            if (outcome.Status == ItemStatus.Succeeded)
            {
                SucceedNeedsLock(call, index, outcome.Value);
                return;
            }

            // One that returned after its time limit may count as processed already, and may be acknowledged.
            if (!call.TryEnd(index))
            {
                return;
            }

            _failed++;
        }

        failures.Add(call.Entries[index], outcome.Error!, outcome.Status == ItemStatus.TimedOut);
    }

    private void SucceedAllReturnedNeedsLock(HostCall<T, TResult> call)
    {
        for (int i = 0; i < call.Entries.Count; i++)
        {
            if (call.TryGetReturned(i, out TResult result))
            {
                SucceedNeedsLock(call, i, result);
            }
        }
    }

    private void SucceedNeedsLock(HostCall<T, TResult> call, int index, TResult result)
    {
        if (call.TryEnd(index))
        {
            _succeeded++;
            WorkEntry<T, TResult> entry = call.Entries[index];
            entry.Batch.SetResult(entry.Index, result);
        }
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
