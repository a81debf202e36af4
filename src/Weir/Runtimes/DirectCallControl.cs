using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>Pauses and stops a call of a <see cref="DirectRuntime"/> from outside, between two items. Only calls that have a control have one.</summary>
internal sealed class DirectCallControl(RunControl control, DirectCall call) : IControlledRun
{
    private readonly Lock _lock = new();
    private RunOrder _order;
    private TaskCompletionSource? _changed;
    private long _begun;
    private volatile bool _isPausing;

    /// <summary>Whether the call waits between two items.</summary>
    public bool IsPausing => _isPausing;

    public void Attach() => control.Attach(this);

    public void Detach() => control.Detach(this);

    public void Obey(RunOrder order)
    {
        using (_lock.Hold())
        {
            _order = order;
        }

        EndWait();
    }

    public RunSample Count()
    {
        RunSample sample = call.Sample();
        using (_lock.Hold())
        {
            sample.Begun = _begun;
            return sample;
        }
    }

    /// <summary>Begins an item, after the pause if there is one.</summary>
    /// <param name="token">The token of the call.</param>
    /// <returns>False if the call has stopped, for whatever reason.</returns>
    public ValueTask<bool> TryBeginItemAsync(CancellationToken token) => TryBeginItem(token) is { } begins ? new(begins) : BeginItemLaterAsync(token);

    private async ValueTask<bool> BeginItemLaterAsync(CancellationToken token)
    {
        _isPausing = true;
        try
        {
            while (true)
            {
                Task changed;
                using (_lock.Hold())
                {
                    changed = (_changed ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
                }

                if (TryBeginItem(token) is { } begins)
                {
                    return begins;
                }

                using (token.UnsafeRegister(
                    static control => Unattended.Run(
                        (DirectCallControl)control!, static control => control.EndWait(), static (control, _) => control.EndWait()),
                    this))
                {
                    await changed.ConfigureAwait(false);
                }
            }
        }
        finally
        {
            _isPausing = false;
        }
    }

    /// <returns>Null while the call is paused.</returns>
    private bool? TryBeginItem(CancellationToken token)
    {
        using (_lock.Hold())
        {
            if (_order.IsStopped || token.IsCancellationRequested)
            {
                return false;
            }

            if (_order.IsPaused)
            {
                return null;
            }

            _begun++;
            return true;
        }
    }

    private void EndWait()
    {
        TaskCompletionSource? changed;
        using (_lock.Hold())
        {
            changed = _changed;
            _changed = null;
        }

        changed?.TrySetResult();
    }
}
