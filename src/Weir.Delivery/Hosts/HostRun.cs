using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using Weir.Core;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Delivery;

/// <summary>
/// The run of a host. Reading, calls of the runtime, and acknowledging run concurrently. One lock guards what they share. User code, the source and the sink
/// are called outside the lock.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "Sources without a timer hold nothing.")]
internal sealed partial class HostRun<T, TResult> : IHostRun, IUnattended
{
    private static readonly TimeSpan GiveBackLimit = TimeSpan.FromSeconds(10);

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
    private readonly Repeater _repeater;
    private readonly BatchWindow<T, TResult> _window;
    private readonly Backlog<T, TResult> _backlog;
    private readonly HashSet<HostCall<T, TResult>> _calls = [];
    private readonly Signal _room = new();
    private readonly UrgentSignal _done = new();
    private readonly TaskCompletionSource _idle = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Cancelled to stop reading, and to stop running items.
    private readonly CancellationTokenSource _reading = new();
    private readonly CancellationTokenSource _running = new();
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

    /// <summary>Whether an item whose turn has come in its call may still begin. After a stop it ends here, without an outcome, and is returned.</summary>
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
}
