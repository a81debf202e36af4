namespace Weir.Delivery;

/// <content>Calls the source and the sink: writes results, acknowledges batches, and at the end returns what is not done.</content>
internal sealed partial class HostRun<T, TResult>
{
    private async Task AcknowledgeAllAsync(ItemInterval? interval)
    {
        try
        {
            while (true)
            {
                // Batches that end during an acknowledgement go into the next one, so a slow source gets more at once.
                await _done.WaitAsync().ConfigureAwait(false);
                bool isLast = _idle.Task.IsCompleted;
                bool isItemTime = interval?.TakeEnd() == true;
                List<TrackedBatch<T, TResult>> done;
                lock (_lock)
                {
                    // A call of the runtime tells its outcomes when it ends, which may be long after an item has.
                    foreach (HostCall<T, TResult> call in isItemTime ? _calls : [])
                    {
                        SucceedAllReturnedNeedsLock(call);
                    }

                    done = _window.Acknowledgeable();
                }

                if (done.Count > 0)
                {
                    await AcknowledgeAsync(done).ConfigureAwait(false);
                }

                if (isLast)
                {
                    return;
                }

                if (isItemTime && await AcknowledgeItemsAsync(_itemSource!).ConfigureAwait(false))
                {
                    interval!.Begin();
                }
            }
        }
        catch (OperationCanceledException) when (_running.IsCancellationRequested)
        {
            // Batches that are not acknowledged are returned.
        }
        catch (Exception e)
        {
            Fail(e);
        }
    }

    private async ValueTask AcknowledgeAsync(List<TrackedBatch<T, TResult>> done)
    {
        if (_sink is not null)
        {
            await WriteAsync(_sink, done).ConfigureAwait(false);
        }

        WorkBatch<T>[] batches = [.. done.Where(static b => !b.IsAcknowledged).Select(static b => b.Batch)];
        if (batches.Length > 0)
        {
            await _repeater.RunAsync(token => _source.AcknowledgeAsync(batches, token), _running.Token).ConfigureAwait(false);
        }

        lock (_lock)
        {
            _window.Remove(done);
            _acknowledged += done.Count;
        }

        _room.Set();
    }

    /// <summary>Acknowledges the items that are done of batches that are not, so that a crash does not repeat them.</summary>
    /// <returns>Whether there are batches left. Whoever adds one to none begins the interval too.</returns>
    private async ValueTask<bool> AcknowledgeItemsAsync(IItemAcknowledgement<T> source)
    {
        List<TrackedBatch<T, TResult>> batches;
        DoneItems<T>[] items;
        lock (_lock)
        {
            batches = _window.DoneInPart();
            items = [.. batches.Select(static b => b.Done())];
        }

        bool areAcknowledged = false;
        if (items.Length > 0)
        {
            await _repeater.RunAsync(async token => areAcknowledged = await source.AcknowledgeItemsAsync(items, token).ConfigureAwait(false), _running.Token)
                .ConfigureAwait(false);
        }

        lock (_lock)
        {
            for (int i = 0; areAcknowledged && i < items.Length; i++)
            {
                batches[i].AcknowledgedItems = items[i].Places.Count;
            }

            return _window.Count > 0;
        }
    }

    /// <summary>Writes the results. What the sink refuses has failed, however often it is tried; the rest is written without it.</summary>
    private async ValueTask WriteAsync(IWorkSink<TResult> sink, List<TrackedBatch<T, TResult>> done)
    {
        List<WorkItem<TResult>> results = [];
        List<WorkEntry<T, TResult>> entries = [];
        foreach (TrackedBatch<T, TResult> batch in done)
        {
            batch.AddResults(results, entries);
        }

        string? position = _source.Order == AcknowledgementOrder.Delivery ? done[^1].Batch.Position : null;
        while (true)
        {
            List<WorkItem<TResult>> written = results;
            Dictionary<int, WorkRefusal> refused;
            try
            {
                await _repeater.RunAsync(token => sink.WriteAsync(written, position, token), _running.Token).ConfigureAwait(false);
                return;
            }
            catch (WorkRefusedException e) when (e.Items.Any(r => r.Place >= 0 && r.Place < written.Count))
            {
                refused = e.Items.DistinctBy(static r => r.Place).ToDictionary(static r => r.Place);
            }

            var failures = new HostFailures<T, TResult>(_source, _options);
            for (int i = 0; i < entries.Count; i++)
            {
                if (refused.TryGetValue(i, out WorkRefusal refusal))
                {
                    failures.AddLetter(entries[i], refusal.Reason, refusal.Error);
                }
            }

            await failures.StoreAsync(_repeater, _running.Token).ConfigureAwait(false);
            lock (_lock)
            {
                _deadLettered += failures.DeadLettered;
            }

            results = [.. results.Where((_, i) => !refused.ContainsKey(i))];
            entries = [.. entries.Where((_, i) => !refused.ContainsKey(i))];
        }
    }

    /// <summary>Returns the batches that were read but are not done. Nothing else is running by then.</summary>
    private async Task GiveBackAsync()
    {
        List<TrackedBatch<T, TResult>> left = [.. _window.All().Where(static b => !b.IsAcknowledged)];
        if (left.Count == 0)
        {
            return;
        }

        try
        {
            // Only once: an unavailable server detects by itself that this consumer is gone.
            using var limit = new CancellationTokenSource(GiveBackLimit, _options.TimeProvider);
            List<TrackedBatch<T, TResult>> whole = [];
            foreach (TrackedBatch<T, TResult> batch in left)
            {
                List<WorkItem<T>> items = batch.Left();
                _returned += items.Count;
                if (items.Count < batch.Batch.Items.Count && _source is { Redelivery: { } redelivery, Order: AcknowledgementOrder.Any } && _sink is null)
                {
                    // Without the processed items.
                    if (items.Count > 0)
                    {
                        await redelivery.RedeliverAsync(batch.Batch, items, TimeSpan.Zero, limit.Token).ConfigureAwait(false);
                    }

                    await _source.AcknowledgeAsync([batch.Batch], limit.Token).ConfigureAwait(false);
                }
                else
                {
                    whole.Add(batch);
                }
            }

            if (whole.Count > 0)
            {
                await _source.ReturnAsync([.. whole.Select(static b => b.Batch)], limit.Token).ConfigureAwait(false);
            }
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            _repeater.Report(e);
        }
    }
}
