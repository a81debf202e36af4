using Weir.Core.Metering;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <content>
/// Pauses, stops and limits the run from outside. Each item begins under the lock, so what holds once an order has returned is exact: no item begins while the
/// run is paused or stopped, or above the limit. An item that was claimed and may not begin goes back.
/// </content>
internal abstract partial class Pump
{
    private RunOrder _order;
    private CancellationTokenSource? _reading;
    private volatile bool _stopsReading;
    private long _begun;

    // What the run itself, or what adapts it, sets as the limit.
    private int _ownLimit;

    private bool IsHeldNeedsLock => IsControlled && _order.IsPaused && !_order.IsStopped && !HasStash;

    /// <summary>Begins an item that a worker has claimed.</summary>
    /// <param name="isNew">Whether it has not begun before. An item that comes back for another attempt goes on while the run is paused or stops.</param>
    /// <returns>False if it may not begin now, or at all.</returns>
    public bool TryBegin(bool isNew)
    {
        using (_lock.Hold())
        {
            if (HasTooMany || (isNew && (_order.IsPaused || _order.IsStopped)))
            {
                return false;
            }

            _begun += isNew ? 1 : 0;
            return true;
        }
    }

    void IControlledRun.Obey(RunOrder order)
    {
        int more = 0;
        bool stops;
        bool finish = false;
        bool limits;
        using (_lock.Hold())
        {
            RunOrder before = _order;
            if (_finished || order == before)
            {
                return;
            }

            _order = order;
            limits = order.Limit != before.Limit;
            stops = order.IsStopped && !before.IsStopped;
            bool resumes = before.IsPaused && !order.IsPaused;
            if (order.IsStopped != before.IsStopped || order.IsPaused != before.IsPaused)
            {
                _stopsReading = order.IsStopped;
                HoldSource(order.IsStopped ? SourceHold.Stopped : order.IsPaused ? SourceHold.Paused : SourceHold.None);
                finish = _created is not null && TryFinishNeedsLock();
            }

            more = ApplyLimitNeedsLock();
            if (resumes)
            {
                // As many as have a thread now. The others follow as items suspend or block, as at the start of a run.
                more = Math.Max(more, Math.Min(_limit - _live, Settings.Executor.Threads));
            }

            more = _created is null ? 0 : more;
        }

        if (limits && order.Limit is { } limit && Settings.OnLimit is { } onLimit)
        {
            onLimit(limit);
            Release();
        }

        if (stops && _reading is { } reading)
        {
            // The source's own code reacts to it, and it may take long.
            SafeCancel.Later(reading);
        }

        if (finish)
        {
            QueueFinish();
        }

        for (; more > 0 && AddQueued(); more--)
        {
        }
    }

    RunSample IControlledRun.Count()
    {
        // The ended items first, so that they have all begun.
        RunSample sample = Settings.CountItems?.Invoke() ?? Sample();
        using (_lock.Hold())
        {
            sample.Begun = _begun;
            return sample;
        }
    }

    /// <summary>A token of the run that also ends when only its reading stops.</summary>
    protected CancellationToken ReadingToken()
    {
        _reading = CancellationTokenSource.CreateLinkedTokenSource(Token);
        return _reading.Token;
    }

    /// <returns>How many workers may start now because the limit is higher.</returns>
    private int ApplyLimitNeedsLock()
    {
        int limit = _order.Limit is not { } ordered ? _ownLimit
            : Settings.Adaptive is not null || Settings.MovesLimit ? Math.Min(ordered, _ownLimit)
            : ordered;
        int more = Math.Min(limit - _live, limit - _limit);
        Volatile.Write(ref _limit, limit);
        return more;
    }
}
