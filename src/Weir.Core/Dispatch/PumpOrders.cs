namespace Weir.Core.Dispatch;

/// <summary>What a run that is controlled from outside keeps about it. Guarded by the lock of the run, unless said otherwise.</summary>
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
}
