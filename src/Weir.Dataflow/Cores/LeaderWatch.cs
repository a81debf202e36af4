using Weir.Core;
using Weir.Core.Threads;

namespace Weir.Dataflow.Cores;

/// <summary>
/// Checks every millisecond the blocks in which one worker leads: whether that worker is inside a long call, or a call that waits for a later one. This runs on
/// the process's watch thread and not on the pool, whose threads may all be inside such calls. So no user code may run here (see
/// <see cref="ILeaderBlock"/>).
/// </summary>
/// <remarks>
/// A worker records its progress with plain stores, and reading them needs no fence: what one look does not see yet, the next one does, and one worker too
/// many does no harm. A later look could not repair two things, so they are fenced. First, a worker that takes the lead checks whether its block is watched,
/// while the watch drops the block and then checks who leads. Both fence (<see cref="ParallelState.TryLead(int)"/>, and here), so one sees the other. Second,
/// a writer stores a message and checks whether a worker is needed, while another thread takes the lead away and then checks whether there are messages. The
/// writer does so for every message and must not pay for it, so the other thread makes all processors fence.
/// </remarks>
internal static class LeaderWatch
{
    /// <summary>If fewer messages than this are claimed between two looks, the calls are not short, or there is too little to do for it to matter.</summary>
    public const int FewMessages = 256;

    /// <summary>About 3 us. A leader that claims nothing for this long, although there are messages, is inside a long call.</summary>
    private const int Moment = 100;

    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(1);
    private static readonly Lock WatchLock = new();
    private static readonly List<ILeaderBlock> Watched = [];

    /// <summary>Set while there are blocks to check.</summary>
    private static readonly WatchTimer Timer = new(static _ => Tick(), null);

    /// <summary>One worker leads from now on.</summary>
    /// <returns>Whether the block is watched; false if no thread could be started.</returns>
    public static bool Begin(ILeaderBlock block)
    {
        ParallelState state = block.Parallel;
        if (state.IsWatched)
        {
            return true;
        }

        using (WatchLock.Hold())
        {
            if (state.IsWatched)
            {
                return true;
            }

            try
            {
                Watched.Add(block);
                if (Watched.Count == 1)
                {
                    Timer.Change(Period, Period);
                }
            }
            catch (Exception e) when (e is OutOfMemoryException or ThreadStartException)
            {
                Watched.Remove(block);
                return false;
            }

            state.Now.Seen = block.Claimed;
            state.IsWatched = true;
            return true;
        }
    }

    /// <summary>Checks all of them once.</summary>
    public static void Tick()
    {
        List<ILeaderBlock>? over = null;
        List<ILeaderBlock>? slow = null;
        using (WatchLock.Hold())
        {
            for (int i = Watched.Count - 1; i >= 0; i--)
            {
                ILeaderBlock block = Watched[i];
                ParallelState state = block.Parallel;
                state.Now.Looked = block.Claimed;
                long since = state.Now.Looked - state.Now.Seen;
                state.Now.Seen = state.Now.Looked;
                if (since < FewMessages)
                {
                    (over ??= []).Add(block);
                    state.IsWatched = false;
                    Watched[i] = Watched[^1];
                    Watched.RemoveAt(Watched.Count - 1);
                }
            }

            if (Watched.Count == 0)
            {
                Timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            }
        }

        // Between "not watched any more" and "who leads?".
        Interlocked.MemoryBarrier();
        over?.ForEach(static block => block.EndLead());
        Thread.SpinWait(Moment);
        using (WatchLock.Hold())
        {
            foreach (ILeaderBlock block in Watched)
            {
                if (block.Claimed == block.Parallel.Now.Looked && block.Parallel.IsLed)
                {
                    (slow ??= []).Add(block);
                }
            }
        }

        slow?.ForEach(static block => block.AddStandby());
    }
}
