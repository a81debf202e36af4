using System.Diagnostics;
using System.Runtime.InteropServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What the workers of one block share.</summary>
/// <remarks>
/// While calls are short, one worker claims all messages: the leader. One more may stand by and look whether it gets on; the others leave. Whoever finds the
/// leader inside a call that lasts takes the lead, so a long call holds nothing up but itself.
/// </remarks>
internal sealed class ParallelState(int parallelism)
{
    /// <summary>The lead of a worker that has made room for others and is queued again: for the next one that begins.</summary>
    public const int Requeued = -1;

    private const int Led = 1 << 30;
    private const int BusyMask = Led - 1;

    /// <summary>A call that is shorter, waits for other workers included, is done sooner by one worker than by several that meet at each message.</summary>
    public static long ShortTicks = Stopwatch.Frequency * 500 / 1_000_000_000;

    /// <summary>A call that is longer, with nobody to wait for, is worth a second worker.</summary>
    public static long LongTicks = Stopwatch.Frequency * 200 / 1_000_000_000;

    /// <summary>A leader that claims nothing for so long, though there is something, is inside a call that lasts.</summary>
    public static readonly long StuckTicks = Stopwatch.Frequency * 2 / 1_000_000;

    /// <summary>A window of calls that took longer had one among them that lasts.</summary>
    public static readonly long LastingTicks = Stopwatch.Frequency * 20 / 1_000_000;

    private static readonly long FewStandbyTicks = Stopwatch.Frequency * 20 / 1_000_000;
    private static readonly long MostStandbyTicks = Stopwatch.Frequency * 500 / 1_000_000;

    private readonly int _parallelism = Math.Min(parallelism, BusyMask / 2);
    private int _lastWorker;

    /// <summary>Whoever takes a message out of the queue.</summary>
    public BiasedLock Claims;

    public Counts Now = new() { StandbyTicks = FewStandbyTicks };

    /// <summary>How many windows of calls in a row were short, while there is no leader.</summary>
    public int Short;

    /// <summary>The same for long ones, while there is one.</summary>
    public int Long;

    /// <summary>Whether calls were short when they were last judged: then whoever begins to work leads.</summary>
    public volatile bool IsShort;

    /// <summary>Whether as many calls as there may be were pending when one was last looked at.</summary>
    public bool AwaitsCalls;

    /// <summary>How often a leader looks again before it rests.</summary>
    public int Patience;

    /// <summary>The worker that stands by, or 0.</summary>
    public int Standby;

    /// <summary>How often in a row the lead was taken from a worker soon after the time before.</summary>
    public int Taken;

    /// <summary>Belongs to the watch.</summary>
    public volatile bool IsWatched;

    /// <summary>Workers that are queued or at work, and calls that are not done.</summary>
    public int Busy => Volatile.Read(ref Now.Word) & BusyMask;

    public bool IsLed => (Volatile.Read(ref Now.Word) & Led) != 0;

    public int Leader => Volatile.Read(ref Now.Leader);

    /// <summary>A call has lasted: to stand by is worth it.</summary>
    public void RecordLongCall() => Now.StandbyTicks = MostStandbyTicks;

    /// <summary>Nobody's call has lasted while one stood by.</summary>
    public void RecordNoLongCall() => Now.StandbyTicks = Math.Max(FewStandbyTicks, Now.StandbyTicks / 2);

    /// <summary>Whether one more would be welcome: there is no leader, and room.</summary>
    public bool WantsWorker => Volatile.Read(ref Now.Word) < _parallelism;

    /// <summary>Whether there are more than there may be, because calls are pending.</summary>
    public bool IsCrowded => Busy > _parallelism;

    public int NewWorker() => (Interlocked.Increment(ref _lastWorker) & BusyMask) + 1;

    /// <summary>One more worker, if there may be one.</summary>
    /// <param name="led">Whether also beside a leader.</param>
    public bool TryJoin(bool led = false)
    {
        while (true)
        {
            int word = Volatile.Read(ref Now.Word);
            if ((led ? word & BusyMask : word) >= _parallelism)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref Now.Word, word + 1, word) == word)
            {
                return true;
            }
        }
    }

    /// <summary>One worker less, if there are too many: those that stay look at the queue before they rest.</summary>
    public bool TryLeave() => TryLeave(0, _parallelism);

    /// <summary>One less, if there is a leader: it looks at the queue before it rests.</summary>
    public bool TryLeaveToLeader() => TryLeave(Led, 0);

    /// <summary>A call is pending, and counts besides its worker.</summary>
    public void Pending() => Interlocked.Increment(ref Now.Word);

    /// <summary>One less, whoever stays.</summary>
    public void Rest() => Interlocked.Decrement(ref Now.Word);

    /// <summary>Takes the lead, if nobody has it. A full fence, before whatever the new leader asks next.</summary>
    public bool TryLead(int worker)
    {
        if ((Interlocked.Or(ref Now.Word, Led) & Led) != 0)
        {
            return false;
        }

        Interlocked.Exchange(ref Now.Leader, worker);
        return true;
    }

    /// <summary>Takes the lead from another, whose call lasts.</summary>
    public bool TryLead(int worker, int from) => Interlocked.CompareExchange(ref Now.Leader, worker, from) == from;

    /// <summary>From now on nobody leads, if this one still did.</summary>
    public bool TryEndLead(int leader)
    {
        if (leader == 0 || Interlocked.CompareExchange(ref Now.Leader, 0, leader) != leader)
        {
            return false;
        }

        Short = Long = Taken = 0;
        Interlocked.And(ref Now.Word, ~Led);
        return true;
    }

    private bool TryLeave(int flag, int limit)
    {
        while (true)
        {
            int word = Volatile.Read(ref Now.Word);
            if ((word & flag) != flag || (word & BusyMask) <= limit)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref Now.Word, word - 1, word) == word)
            {
                return true;
            }
        }
    }

    /// <summary>Read by whoever stores a message: hence apart from what the workers write for each.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 128)]
    internal struct Counts
    {
        /// <summary>How many are busy, and a flag for whether one of them leads: while it is set there is a worker that will look at the queue again.</summary>
        [FieldOffset(64)]
        public int Word;

        /// <summary>The worker that leads, or 0. Whoever sets it to 0 takes the flag away.</summary>
        [FieldOffset(68)]
        public int Leader;

        // What follows is written too rarely to disturb anybody.

        /// <summary>For how long one stands by while the leader gets on. Long once a call has lasted, shorter each time that none did.</summary>
        [FieldOffset(72)]
        public long StandbyTicks;

        /// <summary>How many messages had been claimed when the lead was last taken from a worker whose call lasts.</summary>
        [FieldOffset(80)]
        public long TakenAt;

        /// <summary>How many messages had been claimed at the watch's last look, and a moment ago. Both belong to the watch.</summary>
        [FieldOffset(88)]
        public long Seen;

        [FieldOffset(96)]
        public long Looked;
    }
}
