namespace Weir.Core.Dispatch;

/// <summary>
/// What a worker needs so that its item can be given up. The word says where the item stands: its low bits are the state, the rest is the item's
/// serial number, so that a late timer cannot hit the next item.
/// </summary>
internal sealed class ItemGuard
{
    public const long StateMask = 7;

    /// <summary>Between items. The state that all others lead back to.</summary>
    public const long Idle = 0;

    /// <summary>Inside the call, on a thread. What the worker has claimed beyond the item belongs to whoever gives it up.</summary>
    public const long InCall = 1;

    /// <summary>The worker is giving back what it has claimed beyond the item; this takes a few instructions.</summary>
    public const long Moving = 2;

    /// <summary>The call has returned and is waited for.</summary>
    public const long Waiting = 3;

    /// <summary>The item's outcome was decided from outside. The worker is an orphan.</summary>
    public const long Abandoned = 4;

    /// <summary>Inside a call that takes long; what the worker has claimed beyond the item is being given to others; this takes a few instructions.</summary>
    public const long Sharing = 5;

    /// <summary>Inside a call that takes long; the worker has nothing beyond the item any more.</summary>
    public const long Shared = 6;

    /// <summary>The outcome of an orphan's item is still to be recorded by the worker that takes its place.</summary>
    public const long Handed = 7;

    public long Word;

    /// <summary>The word of the last item that ended inside its call. Written by the worker before it looks at <see cref="Wanted"/>.</summary>
    public long Ended;

    /// <summary>
    /// Not zero once somebody has wanted to give up an item of the worker. Until then the worker ends an item with plain stores; whoever wants one
    /// sets this, has every processor see it (<see cref="Interlocked.MemoryBarrierProcessWide"/>), and only then looks at <see cref="Ended"/>: so either the worker
    /// sees this and both compete for the word, or the item is seen to have ended. Never reset, because another one may rely on it.
    /// </summary>
    public int Wanted;

    /// <summary>In place of a deadline: the attempt has begun, and nobody has looked at the clock for it yet. See <see cref="SeenAt"/>.</summary>
    public const long NotSet = long.MinValue;

    private long _seen;
    private long _seenAt;

    /// <summary>When the attempt's time is up, as a timestamp of the run's clock; or <see cref="NotSet"/>.</summary>
    public long Deadline;

    /// <summary>When the item's own time is up, over all its attempts. Only while <see cref="Deadline"/> is set.</summary>
    public long ItemDeadline = long.MaxValue;

    /// <summary>The executor's thread that the worker runs on.</summary>
    public object? Host { get; set; }

    /// <summary>The tokens of timed items. Whoever takes the worker's place goes on with them.</summary>
    public ItemTokens? Tokens { get; set; }

    /// <summary>The item's own: cancelled when its time is up, or the run stops.</summary>
    public CancellationTokenSource? Stop { get; set; }

    public ITimer? Timer { get; set; }

    /// <summary>The error of the item whose orphan this worker replaces.</summary>
    public Exception? HandedError { get; set; }

    /// <summary>Whether the worker has an item whose outcome is open. For statistics: the item may have ended since.</summary>
    public bool IsInFlight
    {
        get
        {
            long word = Volatile.Read(ref Word);
            return (word & StateMask) switch
            {
                // An item that ends inside its call leaves the word as it is.
                InCall => Volatile.Read(ref Ended) != word,
                Moving or Waiting or Sharing or Shared => true,
                _ => false,
            };
        }
    }

    /// <summary>
    /// Notes where the item stands, for the stall watch, whose looks do not overlap. An item that it sees for the first time gets a time: that is at most one period of the watch after the item's start,
    /// and never before it, and costs the item nothing.
    /// </summary>
    /// <returns>Whether it stood there at the last look too.</returns>
    public bool See(long word, long now)
    {
        if (word == _seen)
        {
            return true;
        }

        if ((word & ~StateMask) != (_seen & ~StateMask))
        {
            _seenAt = now;
        }

        Volatile.Write(ref _seen, word);
        return false;
    }

    /// <summary>When the stall watch first saw the item, or null when it has not yet. It can be relied on only by whoever then moves the word on, or is the worker.</summary>
    public long? SeenAt(long word) => (Volatile.Read(ref _seen) & ~StateMask) == (word & ~StateMask) ? _seenAt : null;

    /// <summary>The word of the next item, inside its call.</summary>
    public static long Next(long word) => (word & ~StateMask) + StateMask + 1 + InCall;
}
