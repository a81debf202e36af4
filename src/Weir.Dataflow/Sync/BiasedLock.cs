using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Dataflow.Sync;

/// <summary>
/// The lock around a block's own state. It is held for some instructions at a time and never while anything of the user's runs, so it neither
/// blocks nor nests into itself.
/// </summary>
/// <remarks>
/// <para>
/// As long as one thread (or one worker, whatever its threads) alone uses it, it costs plain loads and stores (see <see cref="ProcessBarrier"/>): that one
/// is its owner. The first other one takes that away with a process-wide barrier; from then on it is a spin lock, until one has been alone with it for long
/// enough to own it again. How long doubles with each owner, up to a bound at which the barrier costs little beside what the entries before it cost. There is
/// no last owner: a block that lives long is posted to by one thread after another, and has each of them as its owner while it posts much.
/// </para>
/// <para>
/// A worker that comes to rest is not counted as somebody else (<see cref="EnterToGoIdle"/>), or a writer whose worker keeps up with it would never own the lock.
/// But each rest takes something from the writer's streak, because a rest needs a barrier once there is an owner: where the worker rests after a few messages,
/// the spin lock is the cheaper one.
/// </para>
/// <para>
/// States: owned (<c>_owner</c> is set), or a spin lock (<c>_owner</c> is null). Only the holder of <c>_taken</c> changes <c>_owner</c>. The owner writes
/// <c>Inside</c> and then reads <c>_owner</c>; who takes ownership away writes null to <c>_owner</c>, fences all processors, and then reads <c>Inside</c>.
/// So at least one sees the other: the owner backs off to the spin lock, or the other one waits until the owner is out. If either read came before its
/// write, both would be inside. A new owner enters <c>Inside</c> before it is published and before <c>_taken</c> is given up, so nobody gets in between.
/// </para>
/// <para>
/// This is the lock of the blocks, and what needs it ends in NeedsLock. Three places have another one, each for its own reason. An output side also has its
/// monitor, because it is held while targets are called, which may call back: it has to be re-entrant and to block; it is that of the object itself, because
/// a lock object would make each block larger. The context of workers is guarded by the monitor of the input side, because it is taken once for a worker and
/// not for each message. ReliableBroadcastBlock has a Lock for its links, because it has no output side, and links are rarely made.
/// </para>
/// </remarks>
internal struct BiasedLock
{
    /// <summary>How often in a row one has to come in before it owns the lock again: at first, and how often that doubles.</summary>
    private const int FirstStreak = 64;
    private const int MostDoublings = 8;

    /// <summary>About what a barrier costs, in entries that it makes cheaper.</summary>
    private const int StreakPerIdle = 256;

    private static int LastId;

    private LockOwner? _owner;

    /// <summary>The spin lock, for everybody who does not own the lock.</summary>
    private int _taken;

    /// <summary>Who came in last by the spin lock, and how often in a row. At most <c>FirstStreak &lt;&lt; MostDoublings</c>, which fits.</summary>
    private int _last;
    private short _streak;
    private short _doublings;

    /// <summary>Whether another thread or worker has the lock for itself. True one moment need not be true the next.</summary>
    public readonly bool HasOtherOwner => _owner is { } owner && owner.Id != ThreadId.Current;

    /// <summary>An id for somebody that is not a thread. Ids of threads are positive.</summary>
    public static int NewId() => Interlocked.Decrement(ref LastId);

    /// <summary>Enters. The result has to be given to <see cref="Exit"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public LockOwner? Enter() => Enter(ThreadId.Current);

    /// <summary>Enters as one of those that are never at work twice at the same time, on whichever thread: see <see cref="NewId"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public LockOwner? Enter(int id)
    {
        LockOwner? owner = _owner;
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

        return EnterSlow(id, rests: false);
    }

    /// <summary>Enters as a worker that comes to rest if nothing has come for it: that thread need not come again.</summary>
    public LockOwner? EnterToGoIdle()
    {
        int id = ThreadId.Current;
        return _owner is null ? EnterSlow(id, rests: true) : Enter(id);
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

    private LockOwner? EnterSlow(int me, bool rests)
    {
        if (Interlocked.CompareExchange(ref _taken, 1, 0) != 0)
        {
            Spin();
        }

        if (_owner is not null)
        {
            Revoke(_owner);
        }

        if (rests)
        {
            _streak = (short)Math.Max(0, _streak - StreakPerIdle);
            return null;
        }

        if (_last != me)
        {
            bool first = _last == 0;
            _last = me;
            _streak = 0;
            return first ? TakeOwnership(me) : null;
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
/// A thread, or a worker, that has a lock for itself. An object of its own for each ownership: an owner that lost the lock between two instructions
/// still writes here, and must not write into its successor's.
/// </summary>
internal sealed class LockOwner(int id)
{
    public readonly int Id = id;

    /// <summary>Whether the owner is inside. Written by it alone, for every message: hence the cache lines of its own.</summary>
    public Padded Inside;
}

/// <summary>
/// A positive number for each thread that uses a lock. Its own, because a thread-static field is read in place while
/// <see cref="Environment.CurrentManagedThreadId"/> is a call into the runtime, which for a short lock is a third of its cost.
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

/// <summary>A number with cache lines of its own, because one thread writes it for every message while another reads what lies around it.</summary>
[StructLayout(LayoutKind.Explicit, Size = 128)]
internal struct Padded
{
    [FieldOffset(64)]
    public long Value;

    /// <summary>What that thread last saw of the other one's number.</summary>
    [FieldOffset(72)]
    public long Known;

    // What the reader of a queue tells of itself.
    [FieldOffset(80)]
    public long Discarded;

    [FieldOffset(88)]
    public bool IsInCall;
}

/// <summary>The places where memory is allocated while a lock is held: there, a test of the Debug build lets it run out. Nothing in Release.</summary>
internal static class MemoryPoint
{
    /// <summary>Called with what holds the lock, or its type, on the thread that passes the place.</summary>
    public static Action<object>? Passing { get; set; }

    [Conditional("DEBUG")]
    public static void Pass(object who) => Passing?.Invoke(who);
}

/// <summary>
/// A fence with two unequal sides. The side that runs once an item pays nothing but keeps the compiler from reordering; the side that runs
/// once in a while makes all processors of the process fence at that moment.
/// </summary>
/// <remarks>
/// "I write A then read B, you write B then read A, and at least one of us sees the other" holds as soon as one side uses
/// <see cref="Light"/> and the other <see cref="Heavy"/>. Where the process-wide barrier is missing or slow (old kernels, emulators), both sides
/// pay an ordinary fence instead.
/// </remarks>
internal static class ProcessBarrier
{
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(20);

    /// <summary>Whether the heavy side is really process-wide. A constant for the compiler.</summary>
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

    /// <summary>Whether a barrier that takes so long is used. Beyond 10 us, going idle would cost more than the fences it saves.</summary>
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
    /// The best of many counts, because on a busy machine a barrier may have to wait for a processor that is somebody else's at the moment. Such a moment can
    /// outlast many barriers, and the decision lasts as long as the process: so only what is slow all the time is.
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
