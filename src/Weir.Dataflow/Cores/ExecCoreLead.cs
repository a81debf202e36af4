using System.Diagnostics;
using Weir.Core;
using Weir.Core.Threads;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// Decides which of several workers claims messages. While calls are long, every worker does. While they are short, one worker leads, because two that meet at
/// each message are slower. Another worker stands by for as long as that pays; after that, a watch looks.
/// </content>
internal abstract partial class ExecCore<T>
{
    /// <summary>If there are fewer messages than this between two long calls, all workers claim for themselves.</summary>
    private const int MessagesBetweenLongCalls = 160;

    /// <summary>So often in a row.</summary>
    private const int TakenInARow = 4;

    /// <summary>So many short windows more, before one leads again.</summary>
    private const int ManyWindows = 100;

    /// <summary>About a third of a microsecond.</summary>
    private const int StandbySpins = 10;

    ParallelState ILeaderBlock.Parallel => _parallel!;

    long ILeaderBlock.Claimed => _queue!.ReadCount;

    void ILeaderBlock.AddStandby() => AddStandby(_parallel!, byWatch: true);

    void ILeaderBlock.EndLead()
    {
        ParallelState state = _parallel!;
        if (state.Busy == 0)
        {
            state.IsShort = false;
        }

        // Takes the lead from any worker, because the block is no longer watched.
        int leader;
        do
        {
            leader = state.Leader;
        }
        while (leader != 0 && !state.TryEndLead(leader));

        HelpAfterLead(_queue!, byWatch: true);
    }

    /// <summary>A worker starts, or starts again.</summary>
    /// <returns>Whether it leads.</returns>
    private bool BeginWorker(ParallelState state, int me) =>
        state.Leader == ParallelState.Requeued ? state.TryLead(me, ParallelState.Requeued)
        : state.IsShort && state.Leader == 0 && TryLead(state, me);

    private bool TryLead(ParallelState state, int me)
    {
        if (!state.TryLead(me))
        {
            return false;
        }

        if (LeaderWatch.Begin(this))
        {
            return true;
        }

        // Without the watch, a long call might hold up the messages behind it.
        bool leads = !state.TryEndLead(me);
        HelpAfterLead(_queue!);
        return leads;
    }

    /// <summary>Adds a worker for messages that came while there was a leader: their writers saw the lead and added none.</summary>
    private void HelpAfterLead(InputQueue<T> queue, bool byWatch = false)
    {
        ProcessBarrier.Heavy();
        Help(queue, byWatch: byWatch);
    }

    /// <summary>Changes from several workers to one that leads, or back.</summary>
    /// <param name="state">What the workers share.</param>
    /// <param name="queue">The messages.</param>
    /// <param name="me">This worker.</param>
    /// <param name="leads">Whether it leads.</param>
    /// <param name="call">How long the last call took.</param>
    /// <param name="window">How long this worker's last calls took together; 0 when it waited for messages in between.</param>
    /// <returns>Whether it leads from now on.</returns>
    private bool UpdateLead(ParallelState state, InputQueue<T> queue, int me, bool leads, long call, long window)
    {
        state.AwaitsCalls = false;

        // The longer of two estimates: the window covers all calls, and the single call includes no waiting.
        long each = Math.Max(call, window / CallsPerWindow);
        if (!leads)
        {
            state.Short = each <= ParallelState.ShortTicks ? state.Short + 1 : Math.Min(state.Short, 0);
            if (state.Short < ShortWindows)
            {
                return false;
            }

            state.Short = state.Long = 0;
            state.Patience = MostPatience;
            state.IsShort = true;
            return TryLead(state, me);
        }

        state.Long = each > ParallelState.LongTicks ? state.Long + 1 : 0;
        if (state.Long >= LongWindows)
        {
            state.IsShort = false;
            leads = !state.TryEndLead(me);
            HelpAfterLead(queue);
        }
        else if (window > ParallelState.LastingTicks)
        {
            AddStandby(state);
        }

        return leads;
    }

    /// <summary>As many calls are pending as the degree allows. Each worker leaves after one call, so no worker needs to lead.</summary>
    private static bool AwaitsCalls(ParallelState state, int me, bool leads)
    {
        state.AwaitsCalls = true;
        state.IsShort = false;
        state.Short = Math.Min(state.Short, 0);
        return leads && !state.TryEndLead(me);
    }

    /// <summary>A worker stands by beside the leader.</summary>
    private void AddStandby(ParallelState state, bool byWatch = false)
    {
        state.RecordLongCall();
        if (Volatile.Read(ref state.Standby) == 0)
        {
            Help(_queue!, led: true, byWatch);
        }
    }

    /// <summary>
    /// Another worker leads: checks whether it makes progress. This replaces the previous worker that stood by, which may be waiting for a processor.
    /// </summary>
    private StandbyResult StandBy(ParallelState state, InputQueue<T> queue, int me)
    {
        Volatile.Write(ref state.Standby, me);
        StandbyResult standing = WatchLeader(state, queue, me);
        Interlocked.CompareExchange(ref state.Standby, 0, me);
        if (standing == StandbyResult.Left)
        {
            return state.TryLeaveToLeader() ? StandbyResult.Left : StandbyResult.Free;
        }

        if (standing == StandbyResult.Leads && !queue.IsEmpty)
        {
            if (IsTakenOften(state, queue) && state.TryEndLead(me))
            {
                // Do not try again soon, because single calls among them are short.
                state.IsShort = false;
                state.Short = -ManyWindows;
                standing = StandbyResult.Free;
                ProcessBarrier.Heavy();
            }

            Help(queue, led: true);
        }

        return standing;
    }

    private StandbyResult WatchLeader(ParallelState state, InputQueue<T> queue, int me)
    {
        long began = Stopwatch.GetTimestamp();
        long moved = began;
        long claimed = queue.ReadCount;
        while (true)
        {
            int leader = state.Leader;
            if (leader == 0)
            {
                return StandbyResult.Free;
            }

            if (_dropped || state.IsCrowded || Volatile.Read(ref state.Standby) != me)
            {
                return StandbyResult.Left;
            }

            // Do not spin without yielding: if there are more threads than processors, the leader waits for this processor.
            Thread.SpinWait(StandbySpins);
            Thread.Yield();
            long now = Stopwatch.GetTimestamp();
            long seen = queue.ReadCount;
            if (seen != claimed)
            {
                claimed = seen;
                moved = now;
                if (now - began > state.Now.StandbyTicks)
                {
                    state.RecordNoLongCall();
                    return StandbyResult.Left;
                }
            }
            else if (now - moved > ParallelState.StuckTicks && state.TryLead(me, leader))
            {
                return StandbyResult.Leads;
            }
        }
    }

    /// <summary>The lead was taken from a worker in a long call.</summary>
    /// <returns>Whether most calls are long, so that no worker should wait for another.</returns>
    private static bool IsTakenOften(ParallelState state, InputQueue<T> queue)
    {
        state.RecordLongCall();
        long claimed = queue.ReadCount;
        state.Taken = claimed - state.Now.TakenAt < MessagesBetweenLongCalls ? state.Taken + 1 : 0;
        state.Now.TakenAt = claimed;
        return state.Taken >= TakenInARow;
    }

    /// <summary>Queues a worker from a thread that the user's scheduler may hold up.</summary>
    private sealed class Joining(ExecCore<T> core) : IThreadPoolWorkItem
    {
        private int _begun;

        public void Begin()
        {
            try
            {
                SpareThreads.Queue(this);
            }
            catch (Exception e) when (e is OutOfMemoryException or ThreadStartException)
            {
                // The lead may still be queued for the next worker that starts.
                ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
            }
        }

        void IThreadPoolWorkItem.Execute()
        {
            if (Interlocked.Exchange(ref _begun, 1) == 0)
            {
                Unattended.Run(core, static core => core.QueueWorker(again: false), static (core, error) => core.WorkerLost(error));
            }
        }
    }
}
