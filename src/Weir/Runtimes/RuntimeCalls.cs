using Weir.Core;
using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>
/// The running calls of a runtime. It knows when the last call has ended, and ends calls that outlive the grace period.
/// </summary>
internal sealed class RuntimeCalls(object owner)
{
    private readonly Lock _gate = new();
    private readonly HashSet<CallEnd> _runs = [];
    private TaskCompletionSource? _drained;
    private bool _closed;
    private long _succeeded;
    private long _unsuccessful;
    private long _abandoned;

    public RuntimeStatistics Statistics
    {
        get
        {
            using (_gate.Hold())
            {
                RunSample sum = default;
                foreach (CallEnd run in _runs)
                {
                    RunSample sample = run.Sample();
                    sum.Succeeded += sample.Succeeded;
                    sum.Unsuccessful += sample.Unsuccessful;
                    sum.InFlight += sample.InFlight;
                    sum.Abandoned += sample.Abandoned;
                }

                return new RuntimeStatistics
                {
                    ActiveCalls = _runs.Count,
                    InFlight = sum.InFlight,
                    Succeeded = _succeeded + sum.Succeeded,
                    Unsuccessful = _unsuccessful + sum.Unsuccessful,
                    AbandonedWorkers = _abandoned + sum.Abandoned,
                };
            }
        }
    }

    public void ThrowIfClosed()
    {
        using (_gate.Hold())
        {
            ObjectDisposedException.ThrowIf(_closed, owner);
        }
    }

    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public void Add(CallEnd run)
    {
        using (_gate.Hold())
        {
            ObjectDisposedException.ThrowIf(_closed, owner);
            _runs.Add(run);
        }
    }

    public void Remove(CallEnd run)
    {
        TaskCompletionSource? drained = null;
        using (_gate.Hold())
        {
            if (!_runs.Remove(run))
            {
                return;
            }

            RunSample sample = run.Sample();
            _succeeded += sample.Succeeded;
            _unsuccessful += sample.Unsuccessful;
            _abandoned += sample.Abandoned;
            if (_closed && _runs.Count == 0)
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
        using (_gate.Hold())
        {
            _closed = true;
            _drained ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (_runs.Count == 0)
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
            CallEnd[] left;
            using (_gate.Hold())
            {
                left = [.. _runs];
            }

            foreach (CallEnd run in left)
            {
                run.Abort(ItemStatus.Cancelled);
            }

            // This may be the watch's thread, on which the caller must not continue.
            await drained.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        }
    }
}
