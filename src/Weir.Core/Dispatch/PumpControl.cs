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
    private bool IsHeldNeedsLock => Orders is { Order: { IsPaused: true, IsStopped: false } } && !HasStash;

    /// <summary>Begins an item that a worker has claimed.</summary>
    /// <param name="orders">The run's own.</param>
    /// <param name="isNew">Whether it has not begun before. An item that comes back for another attempt goes on while the run is paused or stops.</param>
    /// <returns>False if it may not begin now, or at all.</returns>
    public bool TryBegin(PumpOrders orders, bool isNew)
    {
        using (_lock.Hold())
        {
            if (HasTooMany || (isNew && (orders.Order.IsPaused || (orders.Order.IsStopped && !BeginsWhatWasRead))))
            {
                return false;
            }

            orders.Begun += isNew ? 1 : 0;
            return true;
        }
    }

    void IControlledRun.Obey(RunOrder order)
    {
        PumpOrders orders = Orders!;
        int more = 0;
        bool stops;
        bool finish = false;
        bool limits;
        bool raised;
        using (_lock.Hold())
        {
            RunOrder before = orders.Order;
            int limitBefore = _limit;
            if (_finished || order == before)
            {
                return;
            }

            orders.Order = order;
            limits = order.Limit != before.Limit;
            stops = order.IsStopped && !before.IsStopped;
            bool resumes = before.IsPaused && !order.IsPaused;
            if (order.IsStopped != before.IsStopped || order.IsPaused != before.IsPaused)
            {
                orders.StopsReading = order.IsStopped;
                HoldSource(order.IsStopped ? SourceHold.Stopped : order.IsPaused ? SourceHold.Paused : SourceHold.None);
                finish = _workers.First is not null && TryFinishNeedsLock();
            }

            more = ApplyLimitNeedsLock(orders);
            raised = _limit > limitBefore;
            if (resumes)
            {
                // As many as have a thread now. The others follow as items suspend or block, as at the start of a run.
                more = Math.Max(more, Math.Min(_limit - _live, Settings.Executor.Threads));
            }

            more = _workers.First is null ? 0 : more;
        }

        if (limits && order.Limit is { } limit && orders.Settings.OnLimit is { } onLimit)
        {
            onLimit(limit);
            Release();
        }

        if (raised)
        {
            LimitRaised();
        }

        if (stops && orders.Reading is { } reading)
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

    /// <summary>More items may be in flight: those that wait for a place, and those behind a backlog, may go on.</summary>
    private void LimitRaised()
    {
        Settings.OnLimitRaised?.Invoke();
        Release();
    }

    RunSample IControlledRun.Count()
    {
        // The ended items first, so that they have all begun.
        RunSample sample = Sample();
        using (_lock.Hold())
        {
            sample.Begun = Orders!.Begun;
            return sample;
        }
    }

    /// <summary>A token of the run that also ends when only its reading stops.</summary>
    protected CancellationToken ReadingToken(PumpOrders orders)
    {
        orders.Reading = CancellationTokenSource.CreateLinkedTokenSource(Token);
        return orders.Reading.Token;
    }

    /// <returns>How many workers may start now because the limit is higher.</returns>
    private int SetOwnLimitNeedsLock(int limit)
    {
        if (Orders is null)
        {
            return ApplyLimitNeedsLock(limit);
        }

        Orders.OwnLimit = limit;
        return ApplyLimitNeedsLock(Orders);
    }

    private int ApplyLimitNeedsLock(PumpOrders orders) => ApplyLimitNeedsLock(
        orders.Order.Limit is not { } ordered ? orders.OwnLimit
            : Settings.Adaptive is not null || orders.Settings.MovesLimit ? Math.Min(ordered, orders.OwnLimit)
            : ordered);

    private int ApplyLimitNeedsLock(int limit)
    {
        int more = Math.Min(limit - _live, limit - _limit);
        Volatile.Write(ref _limit, limit);
        return more;
    }
}
