using System.Runtime.CompilerServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// Several workers, or calls in flight. Messages are claimed one at a time and in their order, so that a call may wait for what an earlier one does, or
/// for as many later ones as there are workers. Writers and workers find each other as with one worker: see the other part.
/// </content>
internal abstract partial class ExecCore<T>
{
    /// <summary>After so many calls, a worker looks whether listeners want them.</summary>
    private const int CallsPerLook = 32;

    /// <summary>Null when there is only one worker at a time.</summary>
    private readonly ParallelState? _parallel;

    private void PendingDoneParallel()
    {
        ParallelState state = _parallel!;
        if (state.TryLeave())
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
    private void Help(InputQueue<T> queue)
    {
        if (!queue.IsEmpty && _parallel!.TryJoin())
        {
            QueueWorker(again: false);
        }
    }

    private void WorkParallel()
    {
        ParallelState state = _parallel!;
        InputQueue<T> queue = _queue!;
        int budget = Options.MessagesPerTask;
        int calls = 0;
        bool isFirst = true;
        while (true)
        {
            if (state.IsCrowded && state.TryLeave())
            {
                return;
            }

            if (budget == 0)
            {
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
                if (isFirst)
                {
                    // When there may be more of them again, one brings the next.
                    isFirst = false;
                    Help(queue);
                }

                if ((calls++ & (CallsPerLook - 1)) == 0)
                {
                    LookForListeners();
                }

                budget--;
                Call(item!, id);
            }
            else if (TryRestParallel(queue))
            {
                return;
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
