namespace Weir.Dataflow.Cores;

/// <summary>
/// Looks every millisecond at the blocks in which one worker leads: whether that one is inside a call that lasts, or that waits for a later one. One thread for the
/// process, not of the pool, whose threads may all be inside such calls; it ends when there has been nothing to look at for a while.
/// </summary>
internal static class AloneWatch
{
    /// <summary>Fewer messages than this between two looks: then the calls are not short, or there is so little to do that it does not matter.</summary>
    public const int FewMessages = 256;

    /// <summary>About 3 us: a leader that claims nothing for so long, though there is something, is inside a call that lasts.</summary>
    private const int Moment = 100;

    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan Idle = TimeSpan.FromSeconds(10);
    private static readonly object Watch = new();
    private static readonly List<IWorksAlone> Alone = [];
    private static bool _runs;

    /// <summary>From now on one worker leads.</summary>
    /// <returns>Whether the block is watched; false when there is no thread to be had.</returns>
    public static bool Begin(IWorksAlone block)
    {
        ParallelState state = block.Parallel;
        if (state.IsWatched)
        {
            return true;
        }

        lock (Watch)
        {
            if (state.IsWatched)
            {
                return true;
            }

            if (!_runs)
            {
                try
                {
                    new Thread(Run) { IsBackground = true, Name = "Weir dataflow watch" }.UnsafeStart();
                    _runs = true;
                }
                catch (Exception e) when (e is OutOfMemoryException or ThreadStartException)
                {
                    return false;
                }
            }

            state.IsWatched = true;
            state.Now.Seen = block.Claimed;
            Alone.Add(block);
            if (Alone.Count == 1)
            {
                Monitor.Pulse(Watch);
            }

            return true;
        }
    }

    /// <summary>One look at all of them.</summary>
    public static void Tick()
    {
        List<IWorksAlone>? over = null;
        List<IWorksAlone>? slow = null;
        lock (Watch)
        {
            for (int i = Alone.Count - 1; i >= 0; i--)
            {
                IWorksAlone block = Alone[i];
                ParallelState state = block.Parallel;
                state.Now.Looked = block.Claimed;
                long since = state.Now.Looked - state.Now.Seen;
                state.Now.Seen = state.Now.Looked;
                if (since < FewMessages)
                {
                    (over ??= []).Add(block);
                    state.IsWatched = false;
                    Alone[i] = Alone[^1];
                    Alone.RemoveAt(Alone.Count - 1);
                }
            }
        }

        // Outside the lock: a worker is queued to the user's scheduler.
        over?.ForEach(static block => block.EndAlone());
        Thread.SpinWait(Moment);
        lock (Watch)
        {
            foreach (IWorksAlone block in Alone)
            {
                if (block.Claimed == block.Parallel.Now.Looked && block.Parallel.IsLed)
                {
                    (slow ??= []).Add(block);
                }
            }
        }

        slow?.ForEach(static block => block.Accompany());
    }

    private static void Run()
    {
        while (true)
        {
            lock (Watch)
            {
                if (Alone.Count > 0)
                {
                    Monitor.Wait(Watch, Period);
                }
                else if (!Monitor.Wait(Watch, Idle) && Alone.Count == 0)
                {
                    _runs = false;
                    return;
                }
            }

            Tick();
        }
    }
}
