using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// Several workers, or calls in flight. Messages are claimed one at a time and in their order, so that a call may wait for what an earlier one does, or
/// for as many later ones as there are workers. Writers and workers find each other as with one worker: see the other part.
/// </content>
internal abstract partial class ExecCore<T> : IWorksAlone
{
    /// <summary>Of how many calls the time of one is taken. A power of two.</summary>
    private const int CallsPerSample = 32;

    /// <summary>So many short calls in a row, of those whose time was taken, and one worker goes on alone.</summary>
    private const int ShortCalls = 6;

    /// <summary>So many long ones, and there may be others again.</summary>
    private const int LongCalls = 2;

    /// <summary>Null when there is only one worker at a time.</summary>
    private readonly ParallelState? _parallel;

    ParallelState IWorksAlone.Parallel => _parallel!;

    long IWorksAlone.Claimed => _queue!.ReadCount;

    void IWorksAlone.EndAlone()
    {
        EndAlone(_parallel!);
        Help(_queue!);
    }

    private void PendingDoneParallel()
    {
        // What is left to do is for a worker, as after a call with one worker.
        if (!TryLeave(_parallel!, _parallel!.Now.Limit) && ((!_queue!.IsEmpty && !_dropped) || !TryRestParallel(_queue)))
        {
            QueueWorker(again: false, here: true);
        }
    }

    private void PendingBeginsParallel()
    {
        EndAlone(_parallel!);
        Interlocked.Increment(ref _parallel!.Now.Busy);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool WantsWorker() => Volatile.Read(ref _parallel!.Now.Busy) < _parallel.Now.Limit && TryJoin(_parallel);

    private bool IsDrainedParallelNeedsLock() => Volatile.Read(ref _parallel!.Now.Busy) == 0 && (_queue is null || _queue.IsEmpty);

    /// <summary>One more worker, if there may be one.</summary>
    private static bool TryJoin(ParallelState state)
    {
        while (true)
        {
            int busy = Volatile.Read(ref state.Now.Busy);
            if (busy >= Volatile.Read(ref state.Now.Limit))
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref state.Now.Busy, busy + 1, busy) == busy)
            {
                return true;
            }
        }
    }

    /// <summary>One worker less, if there are too many: those that stay look at the queue before they rest.</summary>
    private static bool TryLeave(ParallelState state, int limit)
    {
        while (true)
        {
            int busy = Volatile.Read(ref state.Now.Busy);
            if (busy <= limit)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref state.Now.Busy, busy - 1, busy) == busy)
            {
                return true;
            }
        }
    }

    /// <summary>Another worker, if there is something for it and there may be one.</summary>
    private void Help(InputQueue<T> queue)
    {
        if (!queue.IsEmpty && TryJoin(_parallel!))
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
        bool isAlone = false;
        bool isFirst = true;
        while (true)
        {
            if (TryLeave(state, isAlone ? Options.Parallelism : state.Now.Limit))
            {
                return;
            }

            if (budget == 0)
            {
                QueueWorker(again: true);
                return;
            }

            GateOwner? key = state.Claims.Enter();
            bool any = queue.TryTake(out T? item, out long id) && !_dropped;
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
                if ((id & (CallsPerSample - 1)) != 0)
                {
                    Process(item!, id);
                    continue;
                }

                long start = Stopwatch.GetTimestamp();
                if (Process(item!, id))
                {
                    isAlone = Judge(state, queue, Stopwatch.GetTimestamp() - start, isAlone);
                }
            }
            else if (state.Now.Limit == 1 && spins < state.Patience && !_dropped)
            {
                spins++;
                Thread.SpinWait(16);
            }
            else
            {
                state.Patience /= spins > 0 ? 2 : 1;
                spins = 0;
                if (TryRestParallel(queue))
                {
                    return;
                }
            }
        }
    }

    /// <summary>From several workers to one, or back.</summary>
    /// <returns>Whether this worker is the one that stays.</returns>
    private bool Judge(ParallelState state, InputQueue<T> queue, long ticks, bool isAlone)
    {
        if (state.Now.Limit > 1)
        {
            state.Short = ticks <= ParallelState.ShortTicks ? state.Short + 1 : 0;
            if (state.Short < ShortCalls)
            {
                return false;
            }

            state.Short = state.Long = 0;
            state.Patience = MostPatience;
            AloneWatch.Begin(this);
            return true;
        }

        state.Long = ticks > ParallelState.LongTicks ? state.Long + 1 : 0;
        if (state.Long < LongCalls)
        {
            return isAlone;
        }

        EndAlone(state);
        Help(queue);
        return false;
    }

    private void EndAlone(ParallelState state)
    {
        state.Short = 0;
        if (state.Now.Limit != Options.Parallelism)
        {
            Volatile.Write(ref state.Now.Limit, Options.Parallelism);
        }
    }

    /// <summary>Stops being a worker, unless a message came in the meantime.</summary>
    private bool TryRestParallel(InputQueue<T> queue)
    {
        ParallelState state = _parallel!;
        if (_dropped)
        {
            GateOwner? claim = state.Claims.Enter();
            queue.Discard();
            state.Claims.Exit(claim);
        }

        if (!Gate.HasOtherOwner)
        {
            GateOwner? key = Gate.Enter();
            bool rests = queue.IsEmpty;
            if (rests)
            {
                Rests(state);
            }

            Leave(key, null);
            return rests;
        }

        Steps.Pass(Step.FoundNothing, Self);
        Rests(state);
        Steps.Pass(Step.SaidIdle, Self);
        ProcessBarrier.Heavy();
        if (!queue.IsEmpty && TryJoin(state))
        {
            return false;
        }

        if (IsDeclining)
        {
            Recheck();
        }

        return true;
    }

    private void Rests(ParallelState state)
    {
        // Those that stay may be in the middle of long calls.
        if (Interlocked.Decrement(ref state.Now.Busy) > 0 && state.Now.Limit != Options.Parallelism)
        {
            EndAlone(state);
        }
    }
}
