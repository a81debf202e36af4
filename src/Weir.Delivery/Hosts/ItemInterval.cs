using Weir.Core;
using Weir.Core.Threads;

namespace Weir.Delivery;

/// <summary>When the items that are done are acknowledged, though their batches are not: an interval after it has begun.</summary>
internal sealed class ItemInterval : IDisposable
{
    private readonly TimeSpan _interval;
    private readonly ITimer _timer;
    private int _isOver;

    /// <param name="interval">How long it is.</param>
    /// <param name="clock">Measures it.</param>
    /// <param name="run">The run, which fails if its end cannot be told.</param>
    /// <param name="end">Set when it is over.</param>
    public ItemInterval(TimeSpan interval, TimeProvider clock, IUnattended run, UrgentSignal end)
    {
        _interval = interval;

        // Not a timer of the platform, whose callback waits for the pool.
        _timer = WatchTime.For(clock).CreateTimer(
            _ => Unattended.Run(run, _ => End(end)), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>It begins, anew if it has begun already.</summary>
    public void Begin() => _timer.Change(_interval, Timeout.InfiniteTimeSpan);

    /// <summary>Whether it is over. It is so once.</summary>
    public bool TakeEnd() => Interlocked.Exchange(ref _isOver, 0) == 1;

    public void Dispose() => _timer.Dispose();

    private void End(UrgentSignal end)
    {
        Volatile.Write(ref _isOver, 1);
        end.SetUrgently();
    }
}
