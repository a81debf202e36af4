using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>
/// Looks every few milliseconds at the blocks in which one worker works alone though more may, and gives them more when it does not get on: it
/// may be inside a call that has become long, or that waits for a later one. One timer for the process, which stops when there is nothing to look at.
/// </summary>
internal static class AloneWatch
{
    /// <summary>Fewer messages than this between two looks: then the calls are not short, or there is so little to do that it does not matter.</summary>
    public const int FewMessages = 256;

    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(2);
    private static readonly Lock Watch = new();
    private static readonly List<IWorksAlone> Alone = [];
    private static readonly ITimer Timer = CreateTimer();
    private static bool _ticking;

    /// <summary>From now on one worker is alone.</summary>
    public static void Begin(IWorksAlone block)
    {
        lock (Watch)
        {
            ParallelState state = block.Parallel;
            state.Now.Limit = 1;
            if (state.IsWatched)
            {
                return;
            }

            state.IsWatched = true;
            state.Seen = block.Claimed;
            Alone.Add(block);
            if (!_ticking)
            {
                _ticking = true;
                Timer.Change(Period, Period);
            }
        }
    }

    /// <summary>One look at all of them.</summary>
    public static void Tick()
    {
        List<IWorksAlone>? over = null;
        lock (Watch)
        {
            for (int i = Alone.Count - 1; i >= 0; i--)
            {
                if (!GetsOn(Alone[i]))
                {
                    (over ??= []).Add(Alone[i]);
                    Alone[i].Parallel.IsWatched = false;
                    Alone[i] = Alone[^1];
                    Alone.RemoveAt(Alone.Count - 1);
                }
            }

            if (Alone.Count == 0 && _ticking)
            {
                _ticking = false;
                Timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            }
        }

        // Outside the lock: a worker is queued to the user's scheduler.
        over?.ForEach(static block => block.EndAlone());
    }

    private static bool GetsOn(IWorksAlone block)
    {
        ParallelState state = block.Parallel;
        long claimed = block.Claimed;
        long since = claimed - state.Seen;
        state.Seen = claimed;
        return Volatile.Read(ref state.Now.Limit) == 1
            && Volatile.Read(ref state.Now.Busy) > 0
            && since >= FewMessages;
    }

    // What stands still here are real threads, so the clock is the system's.
    private static ITimer CreateTimer()
    {
        using (ExecutionContext.SuppressFlow())
        {
            return TimeProvider.System.CreateTimer(static _ => Tick(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        }
    }
}
