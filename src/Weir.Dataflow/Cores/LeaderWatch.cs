using Weir.Core;
using Weir.Core.Threads;

namespace Weir.Dataflow.Cores;

/// <summary>
/// Looks every millisecond at the blocks in which one worker leads: whether that one is inside a call that lasts, or that waits for a later one. On the
/// watch's thread of the process, not on the pool's, which may all be inside such calls; so nothing of the user's may run here (see
/// <see cref="ILeaderBlock"/>).
/// </summary>
/// <remarks>
/// A worker stores how far it is with plain stores, and the looks at that need no fence: what a look does not see yet, the next one does, and one help too
/// many does no harm. Two things would not be made good by a later look, and are fenced. A worker that takes the lead asks whether its block is watched,
/// while the watch drops the block and then asks who leads: both fence themselves (<see cref="ParallelState.TryLead(int)"/>, and here), so one sees the
/// other. A writer stores a message and asks whether a worker is wanted, while somebody takes the lead away and then asks whether there are messages: the
/// writer does so for every message and pays nothing, so the other one has all processors fence.
/// </remarks>
internal static class LeaderWatch
{
    /// <summary>Fewer messages than this between two looks: then the calls are not short, or there is so little to do that it does not matter.</summary>
    public const int FewMessages = 256;

    /// <summary>About 3 us: a leader that claims nothing for so long, though there is something, is inside a call that lasts.</summary>
    private const int Moment = 100;

    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(1);
    private static readonly Lock WatchLock = new();
    private static readonly List<ILeaderBlock> Watched = [];

    /// <summary>Set while there is anything to look at.</summary>
    private static readonly WatchTimer Timer = new(static _ => Tick(), null);

    /// <summary>From now on one worker leads.</summary>
    /// <returns>Whether the block is watched; false when there is no thread to be had.</returns>
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

    /// <summary>One look at all of them.</summary>
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
