using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// What a worker needs so that its item can be given up. The low bits of the word are the item's state. The rest is the item's serial number, so that a late
/// timer cannot hit the next item.
/// </summary>
internal sealed class ItemGuard
{
    public const long StateMask = 7;

    /// <summary>Between items. The state that all others lead back to.</summary>
    public const long Idle = 0;

    /// <summary>Inside the call, on a thread. The items that the worker claimed beyond this one belong to the thread that gives it up.</summary>
    public const long InCall = 1;

    /// <summary>The worker is giving back the items that it claimed beyond this one, which takes a few instructions.</summary>
    public const long Moving = 2;

    /// <summary>The call has returned, and the worker waits for its end.</summary>
    public const long Waiting = 3;

    /// <summary>Another thread decided the item's outcome. The worker is an orphan.</summary>
    public const long Abandoned = 4;

    /// <summary>
    /// Inside a call that takes long. The items that the worker claimed beyond this one are being given to other workers, which takes a few instructions.
    /// </summary>
    public const long Sharing = 5;

    /// <summary>Inside a call that takes long. The worker no longer has any items beyond this one.</summary>
    public const long Shared = 6;

    /// <summary>The worker that replaces an orphan has yet to record the outcome of its item.</summary>
    public const long Handed = 7;

    public long Word;

    /// <summary>
    /// Where the worker is: at the word of the last item that ended inside its call. It is closed once another thread has wanted to give up an item of the
    /// worker. Until then, the worker ends an item with plain stores. After that, both compete for the word. It is never opened again, because another thread
    /// may rely on it.
    /// </summary>
    public ClosableCursor Ended;

    /// <summary>Used in place of a deadline: the attempt has begun, but no thread has read the clock for it yet. See <see cref="SeenAt"/>.</summary>
    public const long NotSet = long.MinValue;

    /// <summary>Used in place of a deadline: there is none.</summary>
    public const long Never = long.MaxValue;

    // What the worker had in an earlier run that it was kept from.
    private ItemTokens? _spareTokens;
    private WatchTimer? _spareTimer;
    private long _seen;
    private long _seenAt;

    public ItemGuard() => Ended.Begin(0, long.MaxValue);

    /// <summary>When the attempt's time limit passes, as a timestamp of the run's clock; or <see cref="NotSet"/>.</summary>
    public long Deadline;

    /// <summary>When the item's own time limit, which covers all its attempts, passes. Only valid while <see cref="Deadline"/> is set.</summary>
    public long ItemDeadline = long.MaxValue;

    /// <summary>The executor's thread that the worker runs on.</summary>
    public object? Host { get; set; }

    /// <summary>The tokens of timed items. The worker that replaces this one continues with them.</summary>
    public ItemTokens? Tokens { get; set; }

    /// <summary>The item's own token. It is cancelled when the item's time limit passes or the run stops.</summary>
    public CancellationTokenSource? Stop { get; set; }

    public ITimer? Timer { get; private set; }

    /// <summary>The error of the item whose orphan this worker replaces.</summary>
    public Exception? HandedError { get; set; }

    /// <summary>Whether the worker has an item without an outcome. For statistics: the item may have ended since.</summary>
    public bool IsInFlight
    {
        get
        {
            long word = Volatile.Read(ref Word);
            return (word & StateMask) switch
            {
                // An item that ends inside its call leaves the word unchanged.
                InCall => Ended.Position != word,
                Moving or Waiting or Sharing or Shared => true,
                _ => false,
            };
        }
    }

    /// <summary>Gives the worker a timer, which is not armed.</summary>
    public ITimer BeginTimer(TimeProvider time, TimerCallback callback, object worker)
    {
        if (_spareTimer is { } spare && time == TimeProvider.System)
        {
            _spareTimer = null;
            spare.Renew();
            return Timer = spare;
        }

        return Timer = WatchTime.CreateTimer(time, callback, worker);
    }

    /// <summary>Ends the timer.</summary>
    /// <returns>False if it may be calling the worker.</returns>
    public bool EndTimer()
    {
        ITimer? timer = Timer;
        Timer = null;
        if (timer is not WatchTimer own)
        {
            timer?.Dispose();
            return timer is null;
        }

        _spareTimer = own;
        return own.TryDispose();
    }

    /// <summary>The run has ended. The serial number stays, and so does the cursor.</summary>
    public void Forget()
    {
        Deadline = 0;
        ItemDeadline = long.MaxValue;
        Host = null;
        Stop = null;
        _spareTokens = Tokens;
        _spareTokens?.Forget();
        Tokens = null;
    }

    /// <summary>Gives the worker the tokens of its items.</summary>
    public ItemTokens BeginTokens()
    {
        Tokens = _spareTokens ?? new ItemTokens();
        _spareTokens = null;
        return Tokens;
    }

    /// <summary>
    /// Records the item's state for the stall watch, whose looks do not overlap. An item that it sees for the first time gets a time, which is at most one
    /// period of the watch after the item's start and never before it. This costs the item nothing.
    /// </summary>
    /// <returns>Whether the item was in the same state at the last look.</returns>
    public bool RecordSeen(long word, long now)
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

    /// <summary>
    /// When the stall watch first saw the item, or null if it has not. Only the worker, or a thread that then changes the word, can rely on it.
    /// </summary>
    public long? SeenAt(long word) => (Volatile.Read(ref _seen) & ~StateMask) == (word & ~StateMask) ? _seenAt : null;

    /// <summary>The word of the next item, inside its call.</summary>
    public static long Next(long word) => (word & ~StateMask) + StateMask + 1 + InCall;
}
