using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>
/// What a run that is paused, stopped and limited from outside keeps about it. Guarded by the lock of the run, unless said otherwise. Each item begins under
/// the lock, so what holds once an order has returned is exact: no item begins while the run is paused or stopped, or above the limit.
/// </summary>
internal sealed class PumpOrders(ControlledSettings settings)
{
    public readonly ControlledSettings Settings = settings;

    public RunOrder Order;

    /// <summary>Ends the reading, for sources that take turns. Set before the start.</summary>
    public CancellationTokenSource? Reading;

    /// <summary>Whether the order is to stop. Read without the lock.</summary>
    public volatile bool StopsReading;

    /// <summary>How many items have begun.</summary>
    public long Begun;

    /// <summary>What the run itself, or what adapts it, sets as the limit.</summary>
    public int OwnLimit = settings.Limit;

    /// <summary>The limit that holds: the ordered one, or the run's own.</summary>
    /// <param name="isMoved">Whether the run's own limit moves, so that both hold.</param>
    public int Limit(bool isMoved) => Order.Limit is not { } ordered ? OwnLimit : isMoved || Settings.MovesLimit ? Math.Min(ordered, OwnLimit) : ordered;

    /// <summary>Begins an item, if it may begin now.</summary>
    /// <param name="isNew">Whether it has not begun before. An item that comes back for another attempt goes on while the run is paused or stops.</param>
    /// <param name="source">Where it comes from.</param>
    public bool TryBegin(bool isNew, Source source)
    {
        if (isNew && (Order.IsPaused || (Order.IsStopped && !source.BeginsWhatWasRead)))
        {
            return false;
        }

        Begun += isNew ? 1 : 0;
        return true;
    }

    /// <summary>What the source is told.</summary>
    public SourceHold Hold => Order.IsStopped ? SourceHold.Stopped : Order.IsPaused ? SourceHold.Paused : SourceHold.None;
}
