using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;

namespace Weir.Runtimes;

/// <content>Pauses and stops the call from outside, between two items.</content>
internal abstract partial class DirectCall
{
    private readonly RunControl? _control;
    private readonly Lock _orders = new();
    private RunOrder _order;
    private TaskCompletionSource? _changed;
    private long _begun;
    private volatile bool _isPausing;

    /// <summary>Whether each item has to ask before it begins.</summary>
    protected bool IsControlled => _control is not null;

    void IControlledRun.Obey(RunOrder order)
    {
        using (_orders.Hold())
        {
            _order = order;
        }

        EndWait();
    }

    RunSample IControlledRun.Count()
    {
        RunSample sample = Sample();
        using (_orders.Hold())
        {
            sample.Begun = _begun;
            return sample;
        }
    }

    /// <summary>Begins an item, after the pause if there is one.</summary>
    /// <returns>False if the call has stopped, for whatever reason.</returns>
    protected ValueTask<bool> TryBeginItemAsync() => TryBeginItem() is { } begins ? new(begins) : BeginItemLaterAsync();

    private async ValueTask<bool> BeginItemLaterAsync()
    {
        _isPausing = true;
        try
        {
            while (true)
            {
                Task changed;
                using (_orders.Hold())
                {
                    changed = (_changed ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
                }

                if (TryBeginItem() is { } begins)
                {
                    return begins;
                }

                using (Token.UnsafeRegister(static call => ((DirectCall)call!).EndWait(), this))
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
    private bool? TryBeginItem()
    {
        using (_orders.Hold())
        {
            if (_order.IsStopped || Token.IsCancellationRequested)
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
        using (_orders.Hold())
        {
            changed = _changed;
            _changed = null;
        }

        changed?.TrySetResult();
    }
}
