using System.Diagnostics;
using Weir.Core;
using Weir.Core.Metering;
using Weir.Core.Threads;
using Weir.Observability;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>
/// The running calls of a runtime. It knows when the last call has ended, and ends calls that outlive the grace period.
/// </summary>
internal sealed class RuntimeCalls(object owner)
{
    private readonly Lock _lock = new();
    private readonly List<RuntimeCall> _running = [];
    private TaskCompletionSource? _drained;
    private volatile bool _closed;
    private long _succeeded;
    private long _failed;
    private long _cancelled;
    private long _abandoned;

    public string? RuntimeName => (owner as IExecutionRuntime)?.Name;

    public RuntimeStatistics Statistics
    {
        get
        {
            lock (_lock)
            {
                RunSample sum = default;
                foreach (RuntimeCall call in _running)
                {
                    RunSample sample = call.Sample();
                    sum.Succeeded += sample.Succeeded;
                    sum.Unsuccessful += sample.Unsuccessful;
                    sum.Cancelled += sample.Cancelled;
                    sum.InFlight += sample.InFlight;
                    sum.Abandoned += sample.Abandoned;
                }

                return new RuntimeStatistics
                {
                    ActiveCalls = _running.Count,
                    InFlight = sum.InFlight,
                    Succeeded = _succeeded + sum.Succeeded,
                    Failed = _failed + sum.Failed,
                    Cancelled = _cancelled + sum.Cancelled,
                    AbandonedWorkers = _abandoned + sum.Abandoned,
                };
            }
        }
    }

    /// <summary>Checks the arguments of a call.</summary>
    /// <returns>The call's options.</returns>
    /// <exception cref="ArgumentException">The results are tasks.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    [StackTraceHidden]
    public ProcessManyOptions Check(object items, object processor, ProcessManyOptions? options, Type results)
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(processor);
        options ??= ProcessManyOptions.Default;
        options.Validate();
        TaskCalls.RefuseTasks(results, nameof(processor));

        // Whoever listens finds something to listen to.
        _ = RunObservation.IsMetered;
        ObjectDisposedException.ThrowIf(_closed, owner);
        return options;
    }

    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public void Add(RuntimeCall call)
    {
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_closed, owner);
            call.Place = _running.Count;
            _running.Add(call);
        }
    }

    public void Remove(RuntimeCall call)
    {
        TaskCompletionSource? drained = null;
        lock (_lock)
        {
            int place = call.Place;
            if (place < 0)
            {
                return;
            }

            RuntimeCall last = _running[^1];
            _running[place] = last;
            last.Place = place;
            _running.RemoveAt(_running.Count - 1);
            call.Place = -1;

            RunSample sample = call.Sample();
            _succeeded += sample.Succeeded;
            _failed += sample.Failed;
            _cancelled += sample.Cancelled;
            _abandoned += sample.Abandoned;
            if (_closed && _running.Count == 0)
            {
                drained = _drained;
            }
        }

        drained?.TrySetResult();
    }

    /// <summary>Rejects further calls, waits for the running ones, and ends them after the grace period.</summary>
    public async Task CloseAsync(TimeSpan grace, TimeProvider time)
    {
        Task drained;
        lock (_lock)
        {
            _closed = true;
            _drained ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (_running.Count == 0)
            {
                _drained.TrySetResult();
            }

            drained = _drained.Task;
        }

        try
        {
            await drained.WaitAsync(grace, WatchTime.For(time)).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            RuntimeCall[] left;
            lock (_lock)
            {
                left = [.. _running];
            }

            foreach (RuntimeCall call in left)
            {
                call.GiveUp(ItemStatus.Cancelled);
            }

            // This may be the watch's thread, on which the caller must not continue.
            await drained.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        }
    }
}
