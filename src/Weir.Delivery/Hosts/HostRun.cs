using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using System.Threading.Channels;
using System.Threading.Tasks.Sources;
using Weir.Core;
using Weir.Core.Threads;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Delivery;

/// <summary>The run of a host: it reads batches, makes calls of the runtime for their items, and acknowledges what is done.</summary>
/// <remarks>
/// <para>
/// Three kinds of work run at the same time: one loop that reads, up to a maximum of calls of the runtime, and one loop that acknowledges. They share the
/// window, which has the batches that were read and are not acknowledged, and the backlog, which has the items of these that have not begun. One lock guards
/// both. User code, the source, the sink and the runtime are called outside the lock.
/// </para>
/// <para>
/// The reader waits until the window has room, adds a batch and starts calls. A call that ends takes its outcomes into the batches, wakes the loop that
/// acknowledges, and starts the next calls. The loop that acknowledges takes what is done from the window, writes it into the sink, acknowledges it and wakes
/// the reader.
/// </para>
/// <para>
/// What does an acknowledgement wait for? A batch is acknowledged when each of its items is done: its processor has returned, or its next attempt or its dead
/// letter is stored (<see cref="HostFailures{T, TResult}"/>). Where the source has an order of delivery, it waits for all batches before it, too
/// (<see cref="BatchWindow{T, TResult}"/>). A sink gets the results first. One loop makes all these calls, so what is done during one waits for the next. Items
/// that are done in a batch that is not are acknowledged once in an interval (<see cref="ItemInterval"/>), if the source can do that and there is no sink. With
/// <see cref="AcknowledgePoint.OnReceipt"/> nothing waits: the reader acknowledges a batch before its items may begin.
/// </para>
/// <para>
/// The run ends in this order. The loop that reads ends: at the end of the source, or when <c>_reading</c> is cancelled, at a stop, by whoever notes a failure, or
/// when the runtime begins no items any more. After a cancellation no item begins, unless it is acknowledged already; and when the grace period has passed, or at
/// an abort, <c>_running</c> is cancelled, too, and running items are given up. Whoever finds that nothing runs and nothing begins any more completes
/// <c>_idle</c>. The loop that acknowledges makes one more round after that and ends. What is left in the window is returned. The first failure is what the run
/// throws.
/// </para>
/// </remarks>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "Sources without a timer hold nothing.")]
internal sealed class HostRun<T, TResult> : IHostRun, IUnattended
{
    private static readonly TimeSpan GiveBackLimit = TimeSpan.FromSeconds(10);

    // Immutable. _process is what an item is called with, and _processTraced the same with a span.
    private readonly Lock _lock = new();
    private readonly IWorkSource<T> _source;
    private readonly IExecutionRuntime _runtime;
    private readonly IWorkSink<TResult>? _sink;
    private readonly IItemAcknowledgement<T>? _itemSource;
    private readonly WorkHostOptions<T> _options;
    private readonly ProcessManyOptions _callOptions;
    private readonly int _maxCalls;
    private readonly Func<(HostCall<T, TResult> Call, int Index), CancellationToken, ValueTask<TResult>> _process;
    private readonly Func<(HostCall<T, TResult> Call, int Index), CancellationToken, ValueTask<TResult>> _processTraced;

    // Thread-safe by themselves. _room wakes the reader, and _done the loop that acknowledges. _idle completes when nothing runs and nothing begins any more.
    private readonly Repeater _repeater;
    private readonly Signal _room = new();
    private readonly UrgentSignal _done = new();
    private readonly TaskCompletionSource _idle = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly CancellationTokenSource _reading = new();
    private readonly CancellationTokenSource _running = new();

    // Under the lock; at the end, when nothing else runs, of the run alone.
    private readonly BatchWindow<T, TResult> _window;
    private readonly Backlog<T, TResult> _backlog;
    private readonly HashSet<HostCall<T, TResult>> _calls = [];
    private WorkHostState _state;
    private Exception? _failure;
    private bool _isAlone;
    private bool _isDraining;
    private long _read;
    private long _succeeded;
    private long _failed;
    private long _redelivered;
    private long _deadLettered;
    private long _returned;
    private long _acknowledged;

    public HostRun(
        IWorkSource<T> source,
        IExecutionRuntime runtime,
        Func<WorkItem<T>, CancellationToken, ValueTask<TResult>> processor,
        IWorkSink<TResult>? sink,
        WorkHostOptions<T> options)
    {
        _source = source;
        _runtime = runtime;
        _sink = sink;
        _options = options;
        _callOptions = new ProcessManyOptions
        {
            PerItemTimeout = options.PerItemTimeout, OperationName = options.OperationName, Tags = options.Tags,
        };
        _maxCalls = options.MaxConcurrentCalls ?? (runtime is DirectRuntime ? 1 : 8);
        _repeater = new Repeater(options.TimeProvider, options.OnFault);
        _window = new BatchWindow<T, TResult>(source.Order);
        _backlog = new Backlog<T, TResult>(options.MaxItemsPerCall);

        // Results go into the sink with the whole batch, and what was acknowledged on receipt needs nothing more.
        _itemSource = sink is null && options.Acknowledge == AcknowledgePoint.AfterProcessing ? source.ItemAcknowledgement : null;
        PolicyChain<TResult>? retry = options.Retry is null
            ? null
            : new PolicyChain<TResult>(new PolicyChainOptions<TResult>
            {
                Name = options.OperationName ?? source.Name, Retry = options.Retry, TimeProvider = options.TimeProvider,
            });
        Func<(HostCall<T, TResult> Call, int Index), CancellationToken, ValueTask<TResult>> once = (at, token) =>
        {
            WorkEntry<T, TResult> entry = at.Call.Entries[at.Index];
            entry.Batch.CountCall(entry.Index);
            return processor(entry.Item, token);
        };
        Func<(HostCall<T, TResult> Call, int Index), CancellationToken, ValueTask<TResult>> call = retry is null
            ? once
            : (at, token) => retry.ExecuteAsync(once, at, token);
        _process = (at, token) => Begins(at.Call, at.Index) ? ProcessAsync(at.Call, at.Index, call(at, token)) : default;
        _processTraced = (at, token) => Begins(at.Call, at.Index)
            ? ProcessAsync(at.Call, at.Index, HostTrace.RunAsync(source, at.Call.Entries[at.Index].Item, call, at, token))
            : default;
    }

    public string? Name => _options.OperationName;

    public int Limit => _options.MaxItemsInFlight;

    public IDeadLetters DeadLetters => _options.DeadLetters;

    public WorkHostStatistics Statistics
    {
        get
        {
            lock (_lock)
            {
                return new WorkHostStatistics
                {
                    State = _state,
                    Read = _read,
                    Succeeded = _succeeded,
                    Failed = _failed,
                    Redelivered = _redelivered,
                    DeadLettered = _deadLettered,
                    Returned = _returned,
                    AcknowledgedBatches = _acknowledged,
                    InFlight = _window.Items,
                    Lag = _window.OldestReadAt is { } readAt ? _options.TimeProvider.GetElapsedTime(readAt) : TimeSpan.Zero,
                    Faults = _repeater.Faults,
                    LastFault = _repeater.Last,
                };
            }
        }
    }

    public int Queued
    {
        get
        {
            lock (_lock)
            {
                return _backlog.Count;
            }
        }
    }

    public void Abort()
    {
        SafeCancel.Now(_reading);
        SafeCancel.Now(_running);
    }

    public async Task RunAsync(CancellationToken stop)
    {
        // Not on the caller's thread: a direct runtime runs items on the calling thread.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        lock (_lock)
        {
            _state = WorkHostState.Running;
        }

        HostMeter.Begin(this, _source.Name);
        using ITimer grace = _options.TimeProvider.CreateTimer(
            static run => Unattended.Run((HostRun<T, TResult>)run!, static run => SafeCancel.Now(run._running)),
            this,
            Timeout.InfiniteTimeSpan,
            Timeout.InfiniteTimeSpan);
        using CancellationTokenRegistration atReadingEnd = _reading.Token.Register(() => Unattended.Run(
            this, run => grace.Change(run._options.GracePeriod, Timeout.InfiniteTimeSpan)));
        using CancellationTokenRegistration atStop = stop.Register(() => Unattended.Run(
            this, static run => SafeCancel.Now(run._reading)));
        using ItemInterval? interval = _itemSource is null ? null : new(_itemSource.Interval, _options.TimeProvider, this, _done);
        Task acknowledging = AcknowledgeAllAsync(interval);
        await ReadAllAsync(interval).ConfigureAwait(false);
        Drain();
        await _idle.Task.ConfigureAwait(false);
        await acknowledging.ConfigureAwait(false);
        await GiveBackAsync().ConfigureAwait(false);
        lock (_lock)
        {
            // What could not be returned is not here any more either: the server gives it to others.
            _window.Clear();
            _state = _failure is null ? WorkHostState.Stopped : WorkHostState.Failed;
        }

        HostMeter.End(this);
        if (_failure is not null)
        {
            ExceptionDispatchInfo.Throw(_failure);
        }
    }

    private static async ValueTask<TResult> AwaitAsync(HostCall<T, TResult> call, int index, ValueTask<TResult> pending)
    {
        TResult result = await pending.ConfigureAwait(false);
        call.Return(index, result);
        return result;
    }

    private static ValueTask<TResult> ProcessAsync(HostCall<T, TResult> call, int index, ValueTask<TResult> pending)
    {
        if (!pending.IsCompletedSuccessfully)
        {
            return AwaitAsync(call, index, pending);
        }

        TResult result = pending.GetAwaiter().GetResult();
        call.Return(index, result);
        return new ValueTask<TResult>(result);
    }

    // What is acknowledged already cannot be returned: it is started as long as there is time. That the run drains is not asked, because the last read of the
    // source may end long after the stop.
    private bool MayStart => !(_options.Acknowledge == AcknowledgePoint.OnReceipt ? _running : _reading).IsCancellationRequested;

    /// <summary>Whether an item that its call is about to begin may still begin. After a stop it ends here, without an outcome, and is returned.</summary>
    private bool Begins(HostCall<T, TResult> call, int index)
    {
        if (MayStart)
        {
            return true;
        }

        lock (_lock)
        {
            call.TryEnd(index);
        }

        return false;
    }

    private async Task ReadAllAsync(ItemInterval? interval)
    {
        try
        {
            while (await HasRoomAsync().ConfigureAwait(false))
            {
                WorkBatch<T>? batch = null;
                await _repeater.RunAsync(
                    async token => batch = await _source.ReadAsync(token).ConfigureAwait(false), _reading.Token).ConfigureAwait(false);
                if (batch is null)
                {
                    return;
                }

                // At most once: items that are lost from here on are not delivered again.
                bool isAcknowledged = _options.Acknowledge == AcknowledgePoint.OnReceipt;
                if (isAcknowledged)
                {
                    await _repeater.RunAsync(token => _source.AcknowledgeAsync([batch], token), _running.Token).ConfigureAwait(false);
                }

                if (Add(batch, isAcknowledged))
                {
                    interval?.Begin();
                }
            }
        }
        catch (OperationCanceledException) when (_reading.IsCancellationRequested)
        {
            // The host stops.
        }
        catch (Exception e)
        {
            Fail(e);
        }
    }

    private async ValueTask<bool> HasRoomAsync()
    {
        while (true)
        {
            lock (_lock)
            {
                if (_window.Count == 0 || _window.Items < _options.MaxItemsInFlight)
                {
                    return !_reading.IsCancellationRequested;
                }
            }

            await _room.WaitAsync(_reading.Token).ConfigureAwait(false);
        }
    }

    /// <summary>Adds a batch, and starts what can start.</summary>
    /// <returns>Whether there was none that is not acknowledged.</returns>
    private bool Add(WorkBatch<T> batch, bool isAcknowledged)
    {
        string?[]? keys = _options.PartitionBy is { } partitionBy ? [.. batch.Items.Select(partitionBy)] : null;
        var tracked = new TrackedBatch<T, TResult>(batch, _sink is not null)
        {
            IsAcknowledged = isAcknowledged,
            ReadAt = _options.TimeProvider.GetTimestamp(),
        };
        bool isEmpty;
        bool isFirst;
        lock (_lock)
        {
            _read += batch.Items.Count;
            isFirst = _window.Count == 0;
            _window.Add(tracked);
            _backlog.Add(tracked, keys);
            isEmpty = tracked.IsDone;
        }

        if (isEmpty)
        {
            _done.Set();
        }

        StartCalls();
        return isFirst;
    }

    private void StartCalls()
    {
        while (true)
        {
            HostCall<T, TResult>? call = null;
            lock (_lock)
            {
                bool mayStart = MayStart;
                if (mayStart)
                {
                    call = _calls.Count < _maxCalls && !_isAlone ? _backlog.Take(isIdle: _calls.Count == 0) : null;
                }

                if (call is null)
                {
                    if (_isDraining && _calls.Count == 0 && (_backlog.IsEmpty || !mayStart))
                    {
                        _idle.TrySetResult();
                        _done.Set();
                    }

                    return;
                }

                _calls.Add(call);
                _isAlone = call.IsAlone;
            }

            // On a pool thread, because a runtime may run items on the calling thread.
            _ = Task.Run(() => RunCallAsync(call));
        }
    }

    private void Drain()
    {
        lock (_lock)
        {
            _isDraining = true;
            _state = WorkHostState.Draining;
        }

        StartCalls();
    }

    /// <summary>Stopping the run failed: it fails, and stops at once, because nothing else would give up the running items.</summary>
    void IUnattended.WorkFailed(Exception error)
    {
        Fail(error);
        SafeCancel.Now(_running);
    }

    private void Fail(Exception failure)
    {
        lock (_lock)
        {
            _failure ??= failure;
        }

        SafeCancel.Now(_reading);
    }

    // The calls of the runtime, and the outcomes of their items.

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
            // Perhaps without a stop of the host: the runtime's control was stopped, or the runtime was disposed. Nothing begins in it any more. A host that went on
            // would read until it has no room, and keep all of it.
            SafeCancel.Now(_reading);
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

    // Calls the source and the sink: writes results, acknowledges batches, and at the end returns what is not done.

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

/// <summary>When the items that are done are acknowledged, though their batches are not: an interval after it has begun.</summary>
internal sealed class ItemInterval : IDisposable
{
    // Immutable.
    private readonly TimeSpan _interval;
    private readonly ITimer _timer;

    // Atomic: the timer writes 1, and the loop that acknowledges exchanges it for 0.
    private int _isOver;

    /// <param name="interval">How long it is.</param>
    /// <param name="clock">Measures it.</param>
    /// <param name="run">The run, which fails if its end cannot be told.</param>
    /// <param name="end">Set when it is over.</param>
    public ItemInterval(TimeSpan interval, TimeProvider clock, IUnattended run, UrgentSignal end)
    {
        _interval = interval;

        // Not a timer of the platform, whose callback waits for the pool.
        _timer = WatchTime.For(clock).CreateTimer(
            _ => Unattended.Run(run, _ => End(end)), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>It begins, anew if it has begun already.</summary>
    public void Begin() => _timer.Change(_interval, Timeout.InfiniteTimeSpan);

    /// <summary>Whether it is over. It is so once.</summary>
    public bool TakeEnd() => Interlocked.Exchange(ref _isOver, 0) == 1;

    public void Dispose() => _timer.Dispose();

    private void End(UrgentSignal end)
    {
        Volatile.Write(ref _isOver, 1);
        end.SetUrgently();
    }
}

/// <summary>Wakes one waiter, so that it checks again. Several signals before it checks count as one.</summary>
internal sealed class Signal
{
    private readonly Channel<bool> _channel = Channel.CreateBounded<bool>(new BoundedChannelOptions(1) { FullMode = BoundedChannelFullMode.DropWrite });

    public void Set() => _channel.Writer.TryWrite(true);

    public async ValueTask WaitAsync(CancellationToken cancellationToken) => await _channel.Reader.ReadAsync(cancellationToken).ConfigureAwait(false);
}

/// <summary>
/// Wakes one waiter, so that it checks again. Several signals before it checks count as one. The waiter continues on the pool. After an urgent signal it
/// continues on a spare thread if the pool has no thread free: handlers may hold all of them.
/// </summary>
internal sealed class UrgentSignal : IThreadPoolWorkItem, IValueTaskSource
{
    private readonly Lock _lock = new();

    // Under the lock, but for the end of a wait: whoever takes _isWaiting back sets the result.
    private ManualResetValueTaskSourceCore<bool> _core;
    private bool _isSet;
    private bool _isWaiting;
    private bool _isQueued;

    /// <summary>Whether the waiter runs on a spare thread. That one may block: it delays nobody, and what needs the pool would wait for it.</summary>
    public static bool IsOnSpareThread => SpareThreads.IsCurrent;

    public void Set()
    {
        if (Mark(queues: true))
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Wakes the waiter, which does not wait for the pool.</summary>
    public void SetUrgently()
    {
        if (Mark(queues: false))
        {
            UrgentWork.Queue(this);
        }
    }

    /// <summary>Waits for a signal. Only one may wait.</summary>
    public ValueTask WaitAsync()
    {
        lock (_lock)
        {
            if (_isSet)
            {
                _isSet = false;
                return default;
            }

            _core.Reset();
            _isWaiting = true;
            return new ValueTask(this, _core.Version);
        }
    }

    /// <summary>Runs the waiter on this thread, unless another thread has. It is an async method, whose task takes what it throws.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        lock (_lock)
        {
            if (!_isWaiting || !_isSet)
            {
                return;
            }

            (_isWaiting, _isSet, _isQueued) = (false, false, false);
        }

        _core.SetResult(true);
    }

    void IValueTaskSource.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    // Whether the waiter has to be queued: an urgent signal does it again.
    private bool Mark(bool queues)
    {
        lock (_lock)
        {
            _isSet = true;
            bool isNew = _isWaiting && !(queues && _isQueued);
            _isQueued |= isNew;
            return isNew;
        }
    }
}
