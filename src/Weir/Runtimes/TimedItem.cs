using System.Diagnostics.CodeAnalysis;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>The clock of one item of a <see cref="DirectRuntime"/>, and the token that is cancelled at its time limit.</summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The timer ends in End; the source has no resources, and a stray call may hold its token for long.")]
internal sealed class TimedItem
{
    private readonly CancellationTokenSource _stop = new();
    private readonly CancellationTokenRegistration _link;
    private readonly ITimer _timer;
    private ItemRace? _race;
    private volatile bool _expired;

    public TimedItem(TimeProvider time, TimeSpan timeout, CancellationToken callToken)
    {
        _link = callToken.UnsafeRegister(static item => QuietCancel.Now(((TimedItem)item!)._stop), this);
        _timer = WatchTime.For(time).CreateTimer(static item => ((TimedItem)item!).Expire(), this, timeout, System.Threading.Timeout.InfiniteTimeSpan);
    }

    public CancellationToken Token => _stop.Token;

    public bool HasExpired => _expired;

    /// <summary>Creates the race between the item's end and its time limit. Each item has its own, so that a late timer affects no other item.</summary>
    public ItemRace Race()
    {
        ItemRace race = new();
        Volatile.Write(ref _race, race);
        Interlocked.MemoryBarrier();
        if (_expired)
        {
            race.Decide(RaceEnd.PerItemTimeout);
        }

        return race;
    }

    /// <summary>Called when the call no longer waits for the item.</summary>
    /// <param name="stray">Whether the item is still running, and must learn that it has been abandoned.</param>
    public void End(bool stray)
    {
        _timer.Dispose();
        _link.Unregister();
        if (stray)
        {
            QuietCancel.Later(_stop);
        }
    }

    private void Expire()
    {
        _expired = true;
        Interlocked.MemoryBarrier();
        Volatile.Read(ref _race)?.Decide(RaceEnd.PerItemTimeout);
        QuietCancel.Later(_stop);
    }
}
