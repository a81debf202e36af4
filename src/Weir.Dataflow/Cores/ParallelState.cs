using System.Diagnostics;
using System.Runtime.InteropServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What the workers of one block share.</summary>
/// <remarks>
/// While calls are short, one worker, the leader, claims all messages. One more may stand by and check whether the leader makes progress; the others leave. A
/// worker that finds the leader inside a long call takes the lead, so a long call delays only itself.
/// </remarks>
internal sealed class ParallelState(int parallelism)
{
    /// <summary>The lead of a worker that was queued again to make room for others. The next worker that starts takes it.</summary>
    public const int Requeued = -1;

    private const int Led = 1 << 30;
    private const int BusyMask = Led - 1;

    /// <summary>For calls shorter than this, including waits for other workers, one worker is faster than several that meet at each message.</summary>
    public static long ShortTicks = Stopwatch.Frequency * 500 / 1_000_000_000;

    /// <summary>Calls longer than this, without waits, are worth a second worker.</summary>
    public static long LongTicks = Stopwatch.Frequency * 200 / 1_000_000_000;

    /// <summary>A leader that claims nothing for this long, although there are messages, is inside a long call.</summary>
    public static readonly long StuckTicks = Stopwatch.Frequency * 2 / 1_000_000;

    /// <summary>A window of calls that took longer than this contained a long call.</summary>
    public static readonly long LastingTicks = Stopwatch.Frequency * 20 / 1_000_000;

    private static readonly long FewStandbyTicks = Stopwatch.Frequency * 20 / 1_000_000;
    private static readonly long MostStandbyTicks = Stopwatch.Frequency * 500 / 1_000_000;

    private readonly int _parallelism = Math.Min(parallelism, BusyMask / 2);
    private int _lastWorker;

    /// <summary>Held by the worker that takes a message out of the queue.</summary>
    public BiasedLock Claims;

    public Counts Now = new() { StandbyTicks = FewStandbyTicks };

    /// <summary>How many windows of calls in a row were short, while there is no leader.</summary>
    public int Short;

    /// <summary>How many windows in a row were long, while there is a leader.</summary>
    public int Long;

    /// <summary>Whether calls were short when they were last measured. If so, the next worker that starts leads.</summary>
    public volatile bool IsShort;

    /// <summary>Whether the most calls allowed were pending when this was last checked.</summary>
    public bool AwaitsCalls;

    /// <summary>How often a leader looks again before it rests.</summary>
    public int Patience;

    /// <summary>The worker that stands by, or 0.</summary>
    public int Standby;

    /// <summary>How often in a row the lead was taken soon after it had been taken before.</summary>
    public int Taken;

    /// <summary>Used by the watch only.</summary>
    public volatile bool IsWatched;

    /// <summary>The number of workers that are queued or running, plus the calls that have not ended.</summary>
    public int Busy => Volatile.Read(ref Now.Word) & BusyMask;

    public bool IsLed => (Volatile.Read(ref Now.Word) & Led) != 0;

    public int Leader => Volatile.Read(ref Now.Leader);

    /// <summary>A call was long, so standing by pays.</summary>
    public void RecordLongCall() => Now.StandbyTicks = MostStandbyTicks;

    /// <summary>No call was long while a worker stood by.</summary>
    public void RecordNoLongCall() => Now.StandbyTicks = Math.Max(FewStandbyTicks, Now.StandbyTicks / 2);

    /// <summary>Whether another worker may start: there is no leader, and the degree allows one more.</summary>
    public bool WantsWorker => Volatile.Read(ref Now.Word) < _parallelism;

    /// <summary>Whether there are more workers than the degree allows, because calls are pending.</summary>
    public bool IsCrowded => Busy > _parallelism;

    public int NewWorker() => (Interlocked.Increment(ref _lastWorker) & BusyMask) + 1;

    /// <summary>Adds a worker, if the degree allows one more.</summary>
    /// <param name="led">Whether to add one even beside a leader.</param>
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

    /// <summary>Removes a worker, if there are too many. Those that stay look at the queue before they rest.</summary>
    public bool TryLeave() => TryLeave(0, _parallelism);

    /// <summary>Removes a worker, if there is a leader, which looks at the queue before it rests.</summary>
    public bool TryLeaveToLeader() => TryLeave(Led, 0);

    /// <summary>A call is pending, and counts in addition to its worker.</summary>
    public void Pending() => Interlocked.Increment(ref Now.Word);

    /// <summary>Removes a worker or a call in any case.</summary>
    public void Rest() => Interlocked.Decrement(ref Now.Word);

    /// <summary>Takes the lead, if no worker has it. This is a full fence before whatever the new leader reads next.</summary>
    public bool TryLead(int worker)
    {
        if ((Interlocked.Or(ref Now.Word, Led) & Led) != 0)
        {
            return false;
        }

        Interlocked.Exchange(ref Now.Leader, worker);
        return true;
    }

    /// <summary>Takes the lead from another worker, which is inside a long call.</summary>
    public bool TryLead(int worker, int from) => Interlocked.CompareExchange(ref Now.Leader, worker, from) == from;

    /// <summary>Gives up the lead, if this worker still has it.</summary>
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

    /// <summary>Read by every thread that stores a message, so it is kept apart from what the workers write for each message.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 128)]
    internal struct Counts
    {
        /// <summary>How many are busy, and a flag that one of them leads. While the flag is set, a worker will look at the queue again.</summary>
        [FieldOffset(64)]
        public int Word;

        /// <summary>The worker that leads, or 0. Whoever sets it to 0 clears the flag.</summary>
        [FieldOffset(68)]
        public int Leader;

        // The fields below are written too rarely to disturb other threads.

        /// <summary>For how long a worker stands by while the leader makes progress. Long after a long call, and shorter each time without one.</summary>
        [FieldOffset(72)]
        public long StandbyTicks;

        /// <summary>How many messages had been claimed when the lead was last taken from a worker in a long call.</summary>
        [FieldOffset(80)]
        public long TakenAt;

        /// <summary>How many messages had been claimed at the watch's last look, and a moment ago. Both are used by the watch only.</summary>
        [FieldOffset(88)]
        public long Seen;

        [FieldOffset(96)]
        public long Looked;
    }
}
