using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// Several workers, or calls in flight. Messages are claimed one at a time and in their order, so that a call may wait for what an earlier one does, or
/// for as many later ones as there are workers. Writers and workers find each other as with one worker: see the other part. Who claims is the next part.
/// </content>
internal abstract partial class ExecCore<T> : ILeaderBlock
{
    /// <summary>So many of a worker's calls are judged together.</summary>
    private const int CallsPerWindow = 32;

    /// <summary>So many short windows in a row, and one worker leads.</summary>
    private const int ShortWindows = 6;

    /// <summary>So many long ones, and it does not any more.</summary>
    private const int LongWindows = 2;

    /// <summary>Null when there is only one worker at a time.</summary>
    private readonly ParallelState? _parallel;

    private void PendingDoneParallel()
    {
        ParallelState state = _parallel!;
        if (state.TryLeaveToLeader() || state.TryLeave())
        {
            return;
        }

        // What is left to do is for a worker, as after a call with one worker.
        if ((!_queue!.IsEmpty && !_dropped) || !TryRestParallel(_queue))
        {
            QueueWorker(again: false, here: true);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool WantsWorker() => _parallel!.WantsWorker && _parallel.TryJoin();

    private bool IsDrainedParallelNeedsLock() => _parallel!.Busy == 0 && (_queue is null || _queue.IsEmpty);

    /// <summary>Another worker, if there is something for it and there may be one.</summary>
    /// <param name="queue">The messages.</param>
    /// <param name="led">Whether also beside a leader.</param>
    /// <param name="byWatch">Whether this is the watch's thread, on which no scheduler of the user's is called.</param>
    private void Help(InputQueue<T> queue, bool led = false, bool byWatch = false)
    {
        if (queue.IsEmpty || !_parallel!.TryJoin(led))
        {
            return;
        }

        if (byWatch && !Options.OnDefaultScheduler)
        {
            new Joining(this).Begin();
        }
        else
        {
            QueueWorker(again: false);
        }
    }

    private void WorkParallel()
    {
        ParallelState state = _parallel!;
        InputQueue<T> queue = _queue!;
        int budget = Options.MessagesPerTask;
        int spins = 0;
        int me = state.NewWorker();
        bool leads = BeginWorker(state, me);
        bool isFirst = true;

        // Where calls go on after they have returned, a worker makes hardly more than one: then most leave the clock alone.
        int calls = state.AwaitsCalls && me % CallsPerWindow != 0 ? 1 : 0;
        long windowBegan = 0;
        while (true)
        {
            if (state.Leader != (leads ? me : 0))
            {
                StandbyResult standing = StandBy(state, queue, me);
                if (standing == StandbyResult.Left)
                {
                    return;
                }

                leads = standing == StandbyResult.Leads;
                windowBegan = 0;
                calls = 0;
            }

            if (state.IsCrowded)
            {
                // Whoever leads may not leave: the flag says that it will look at the queue.
                leads = leads && !state.TryEndLead(me);
                if (state.TryLeave())
                {
                    return;
                }
            }

            if (budget == 0)
            {
                _ = leads && state.TryLead(ParallelState.Requeued, me);
                QueueWorker(again: true);
                return;
            }

            LockOwner? key = state.Claims.Enter();
            bool any = queue.TryTake(out T? item, out long id);
            if (any && _dropped)
            {
                queue.DiscardTaken();
                any = false;
            }

            state.Claims.Exit(key);
            if (any)
            {
                if (spins > 0)
                {
                    spins = 0;
                    state.Patience = Math.Min(state.Patience + 1, MostPatience);
                }

                if (isFirst)
                {
                    // When there may be more of them again, one brings the next.
                    isFirst = false;
                    Help(queue);
                }

                budget--;
                if ((calls++ & (CallsPerWindow - 1)) != 0)
                {
                    Call(item!, id);
                    continue;
                }

                LookForListeners();
                long began = Stopwatch.GetTimestamp();
                if (!Call(item!, id) && state.IsCrowded)
                {
                    leads = AwaitsCalls(state, me, leads);
                    continue;
                }

                long ended = Stopwatch.GetTimestamp();
                leads = UpdateLead(state, queue, me, leads, ended - began, windowBegan == 0 ? 0 : ended - windowBegan);
                windowBegan = ended;
            }
            else if (leads && spins < state.Patience && !_dropped)
            {
                spins++;
                windowBegan = 0;
                Thread.SpinWait(16);
            }
            else
            {
                state.Patience /= spins > 0 ? 2 : 1;
                spins = 0;
                windowBegan = 0;
                if (leads && !state.TryEndLead(me))
                {
                    continue;
                }

                if (TryRestParallel(queue))
                {
                    return;
                }

                // While one led, whoever stored a message brought nobody: see to it that the second of them does not wait for the first.
                leads = BeginWorker(state, me);
                isFirst = true;
            }
        }
    }

    /// <summary>Stops being a worker, unless a message came in the meantime.</summary>
    private bool TryRestParallel(InputQueue<T> queue)
    {
        ParallelState state = _parallel!;
        if (_dropped)
        {
            LockOwner? claim = state.Claims.Enter();
            queue.Discard();
            state.Claims.Exit(claim);
        }

        if (!StateLock.HasOtherOwner)
        {
            LockOwner? key = StateLock.Enter();
            bool rests = queue.IsEmpty;
            if (rests)
            {
                state.Rest();
            }

            Leave(key, null);
            if (rests)
            {
                ForgetContext(state);
            }

            return rests;
        }

        Steps.Pass(Step.FoundNothing, Self);
        state.Rest();
        Steps.Pass(Step.SaidIdle, Self);
        ProcessBarrier.Heavy();
        if (!queue.IsEmpty && state.TryJoin())
        {
            return false;
        }

        ForgetContext(state);
        if (IsDeclining)
        {
            Recheck();
        }

        return true;
    }
}
