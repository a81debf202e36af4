using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Dataflow.Sync;

/// <summary>
/// The lock around a block's own state. It is held for some instructions at a time, never while anything of the user's runs, and does not nest into itself. One
/// thread takes it for nearly every message, so it is biased towards that thread.
/// </summary>
/// <remarks>
/// <para>
/// <b>States.</b> A spin lock (<c>_owner</c> is null), or owned (<c>_owner</c> is set). Once one thread, or one worker on whatever threads, has been alone with
/// the lock for long enough, it is the owner and pays plain loads and stores. The first other one takes ownership away by a process-wide barrier, and the lock
/// is a spin lock again.
/// </para>
/// <para>
/// <b>Protocol.</b> Only the holder of <c>_taken</c> changes <c>_owner</c>. The owner writes <c>Inside</c> and then reads <c>_owner</c>. Who takes ownership
/// away writes null to <c>_owner</c>, makes all processors fence, and then reads <c>Inside</c>. So at least one sees the other: the owner backs off to the spin
/// lock, or the other one waits until the owner is out. If either read came before its write, both could be inside. A new owner sets <c>Inside</c> before it is
/// published and before <c>_taken</c> is given up, so nobody gets in between. See <see cref="ProcessBarrier"/>. Who does not hold <c>_taken</c> reads
/// <c>_owner</c> by a volatile read: of two plain reads one after the other, the compiler takes the second to give what the first gave, and leaves out its
/// check, but reads once more, and then uses an owner that is null by now.
/// </para>
/// <para>
/// <b>When one owns it.</b> After so many entries in a row, and twice as many for each owner, up to a bound at which the barrier costs little beside what
/// these entries cost. So a block of a few messages has no owner, and needs no barrier when the next thread comes. No owner is the last: a block that lives long is posted to by one thread after another, and has each of them as its owner while it posts
/// much. A worker that goes idle does not count as somebody else (<see cref="EnterToGoIdle"/>), or a writer whose worker keeps up with it would never own the
/// lock. But it takes something from the writer's streak, because it needs a barrier once there is an owner: where the worker goes idle after a few messages,
/// the spin lock is cheaper.
/// </para>
/// <para>
/// <b>Other locks of blocks.</b> An output side also has its monitor, the offer lock, which is held while targets are called: it has to be re-entrant and to
/// block, and is that of the object itself, because a lock object would make each block larger. The context of workers is under the monitor of the input side,
/// because it is taken once for a worker and not for each message. ReliableBroadcastBlock has a Lock for its links, because it has no output side and links are
/// rarely made. What needs the BiasedLock of its object ends in NeedsLock.
/// </para>
/// </remarks>
internal struct BiasedLock
{
    /// <summary>How often in a row one has to enter before it owns the lock: at first, and how often that doubles.</summary>
    private const int FirstStreak = 128;
    private const int MostDoublings = 7;

    /// <summary>What a worker that goes idle takes from the streak: about what a barrier costs, in entries that ownership makes cheaper.</summary>
    private const int StreakPerIdle = 256;

    private static int LastId;

    // Atomic: the protocol is above.
    private LockOwner? _owner;

    /// <summary>The spin lock, for everybody who does not own the lock.</summary>
    private int _taken;

    // Of the holder of _taken.

    /// <summary>Who entered last by the spin lock, and how often in a row. At most <c>FirstStreak &lt;&lt; MostDoublings</c>, which fits.</summary>
    private int _last;
    private short _streak;
    private short _doublings;

    /// <summary>Whether another thread or worker owns the lock. It may have changed when the caller reads the answer.</summary>
    public readonly bool HasOtherOwner => Volatile.Read(in _owner) is { } owner && owner.Id != ThreadId.Current;

    /// <summary>An id for somebody that is not a thread, and that enters on one thread at a time. Ids of threads are positive.</summary>
    public static int NewId() => Interlocked.Decrement(ref LastId);

    /// <summary>Enters. The result has to be given to <see cref="Exit"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public LockOwner? Enter() => Enter(ThreadId.Current);

    /// <summary>Enters under an id: that of the current thread, or one of <see cref="NewId"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public LockOwner? Enter(int id)
    {
        LockOwner? owner = Volatile.Read(ref _owner);
        if (owner is not null && owner.Id == id)
        {
            Debug.Assert(owner.Inside.Value == 0, "The lock does not nest.");
            Volatile.Write(ref owner.Inside.Value, 1);
            ProcessBarrier.Light();
            if (Volatile.Read(ref _owner) == owner)
            {
                return owner;
            }

            Volatile.Write(ref owner.Inside.Value, 0);
        }

        return EnterSlow(id, goesIdle: false);
    }

    /// <summary>Enters as a worker that goes idle if nothing has come: its thread need not enter again.</summary>
    public LockOwner? EnterToGoIdle()
    {
        int id = ThreadId.Current;
        return Volatile.Read(ref _owner) is null ? EnterSlow(id, goesIdle: true) : Enter(id);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Exit(LockOwner? owner)
    {
        if (owner is not null)
        {
            Volatile.Write(ref owner.Inside.Value, 0);
        }
        else
        {
            Volatile.Write(ref _taken, 0);
        }
    }

    private LockOwner? EnterSlow(int me, bool goesIdle)
    {
        if (Interlocked.CompareExchange(ref _taken, 1, 0) != 0)
        {
            Spin();
        }

        if (_owner is not null)
        {
            Revoke(_owner);
        }

        if (goesIdle)
        {
            _streak = (short)Math.Max(0, _streak - StreakPerIdle);
            return null;
        }

        if (_last != me)
        {
            _last = me;
            _streak = 0;
            return null;
        }

        return ++_streak >= FirstStreak << _doublings ? TakeOwnership(me) : null;
    }

    /// <summary>From the spin lock to ownership, in an order that lets nobody in between.</summary>
    private LockOwner? TakeOwnership(int me)
    {
        _doublings = (short)Math.Min(_doublings + 1, MostDoublings);
        _streak = 0;
        if (!ProcessBarrier.IsAvailable)
        {
            return null;
        }

        LockOwner owner;
        try
        {
            owner = new LockOwner(me);
        }
        catch (OutOfMemoryException)
        {
            // The spin lock is held, and does as well.
            return null;
        }

        owner.Inside.Value = 1;
        Volatile.Write(ref _owner, owner);
        Volatile.Write(ref _taken, 0);
        return owner;
    }

    private void Revoke(LockOwner owner)
    {
        Volatile.Write(ref _owner, null);
        ProcessBarrier.Heavy();
        SpinWait spin = default;
        while (Volatile.Read(ref owner.Inside.Value) != 0)
        {
            spin.SpinOnce(sleep1Threshold: -1);
        }
    }

    private void Spin()
    {
        SpinWait spin = default;
        do
        {
            spin.SpinOnce(sleep1Threshold: -1);
        }
        while (Volatile.Read(ref _taken) != 0 || Interlocked.CompareExchange(ref _taken, 1, 0) != 0);
    }
}

/// <summary>
/// The owner of a lock: a thread, or somebody else with an id. Each ownership has an object of its own: an owner that lost the lock between two instructions
/// still writes here, and must not write into its successor's.
/// </summary>
internal sealed class LockOwner(int id)
{
    public readonly int Id = id;

    /// <summary>Whether the owner is inside. It alone writes this, for each message: hence the cache lines of its own.</summary>
    public Padded Inside;
}

/// <summary>
/// A positive number for each thread that uses a lock. Not <see cref="Environment.CurrentManagedThreadId"/>, because that is a call into the runtime, a third
/// of what a short lock costs, while a thread-static field is read in place.
/// </summary>
internal static class ThreadId
{
    private static int Last;

    [ThreadStatic]
    private static int _id;

    public static int Current
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            int id = _id;
            return id != 0 ? id : New();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int New() => _id = Interlocked.Increment(ref Last);
}

/// <summary>A number with cache lines of its own: one thread writes it for each message, while another reads what would lie beside it.</summary>
[StructLayout(LayoutKind.Explicit, Size = 128)]
internal struct Padded
{
    [FieldOffset(64)]
    public long Value;

    /// <summary>For a queue: what this side last saw of the other one's number.</summary>
    [FieldOffset(72)]
    public long Known;

    // For the reader of a queue: how many messages it has discarded, and whether it is inside a call.
    [FieldOffset(80)]
    public long Discarded;

    [FieldOffset(88)]
    public bool IsInCall;
}

/// <summary>The points where memory is allocated while a lock is held: a test of the Debug build lets it run out there. Nothing in Release.</summary>
internal static class MemoryPoint
{
    /// <summary>Called with what holds the lock, or its type, on the thread that passes the point.</summary>
    public static Action<object>? Passing { get; set; }

    [Conditional("DEBUG")]
    public static void Pass(object who) => Passing?.Invoke(who);
}

/// <summary>
/// A fence with two unequal sides. The side that runs for each message costs nothing, and only keeps the compiler from reordering. The side that runs once in a
/// while makes all processors of the process fence at that moment.
/// </summary>
/// <remarks>
/// "I write A then read B, you write B then read A, and at least one of us sees the other": this holds if one side uses <see cref="Light"/> and the other
/// <see cref="Heavy"/>. Where the process-wide barrier is missing or slow (old kernels, emulators), both sides pay an ordinary fence instead.
/// </remarks>
internal static class ProcessBarrier
{
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(20);

    /// <summary>Whether the heavy side is process-wide. A constant for the compiler.</summary>
    public static readonly bool IsAvailable = Measure();

    /// <summary>The cheap side, between the write and the read.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Light()
    {
        if (!IsAvailable)
        {
            Interlocked.MemoryBarrier();
        }
    }

    /// <summary>The rare side, between the write and the read.</summary>
    public static void Heavy()
    {
        if (IsAvailable)
        {
            Interlocked.MemoryBarrierProcessWide();
        }
        else
        {
            Interlocked.MemoryBarrier();
        }
    }

    /// <summary>Whether a barrier that takes so long is used. Beyond 10 us, to go idle would cost more than the fences that it saves.</summary>
    public static bool IsFastEnough(long ticks, long ticksPerSecond) => ticks <= ticksPerSecond / 100_000;

    private static bool Measure()
    {
        bool isDecided = AppContext.TryGetSwitch("Weir.Dataflow.DisableProcessBarrier", out bool disabled);
        if (disabled)
        {
            return false;
        }

        try
        {
            Interlocked.MemoryBarrierProcessWide();

            // A switch that is set to false is a decision too.
            return isDecided || IsFast();
        }
        catch (PlatformNotSupportedException)
        {
            return false;
        }
    }

    /// <summary>
    /// The best of many counts: on a busy machine, a barrier may have to wait for a processor that runs somebody else's thread. That can outlast many barriers,
    /// and the decision lasts as long as the process. So a barrier is slow only if it is slow all the time.
    /// </summary>
    private static bool IsFast()
    {
        long begin = Stopwatch.GetTimestamp();
        do
        {
            long before = Stopwatch.GetTimestamp();
            Interlocked.MemoryBarrierProcessWide();
            if (IsFastEnough(Stopwatch.GetTimestamp() - before, Stopwatch.Frequency))
            {
                return true;
            }

            Thread.Yield();
        }
        while (Stopwatch.GetElapsedTime(begin) < Patience);

        return false;
    }
}
