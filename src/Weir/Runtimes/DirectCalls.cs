using Weir.Core;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>The running calls of a <see cref="DirectRuntime"/>. It knows when the last call has ended, and ends calls that outlive the grace period.</summary>
internal sealed class DirectCalls(object owner)
{
    private readonly Lock _gate = new();
    private readonly HashSet<DirectCall> _running = [];
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
                long succeeded = _succeeded;
                long unsuccessful = _unsuccessful;
                long abandoned = _abandoned;
                int inFlight = 0;
                foreach (DirectCall call in _running)
                {
                    succeeded += call.Succeeded;
                    unsuccessful += call.Unsuccessful;
                    abandoned += call.Abandoned;
                    inFlight += call.IsBusy ? 1 : 0;
                }

                return new RuntimeStatistics
                {
                    ActiveCalls = _running.Count,
                    InFlight = inFlight,
                    Succeeded = succeeded,
                    Unsuccessful = unsuccessful,
                    AbandonedWorkers = abandoned,
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
    public void Enter(DirectCall call)
    {
        using (_gate.Hold())
        {
            ObjectDisposedException.ThrowIf(_closed, owner);
            _running.Add(call);
        }
    }

    public void Leave(DirectCall call)
    {
        TaskCompletionSource? drained = null;
        using (_gate.Hold())
        {
            _running.Remove(call);
            _succeeded += call.Succeeded;
            _unsuccessful += call.Unsuccessful;
            _abandoned += call.Abandoned;
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
        using (_gate.Hold())
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
            DirectCall[] left;
            using (_gate.Hold())
            {
                left = [.. _running];
            }

            foreach (DirectCall call in left)
            {
                call.GiveUp(ItemStatus.Cancelled);
            }

            // This may be the watch's thread, on which the caller must not continue.
            await drained.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        }
    }
}
