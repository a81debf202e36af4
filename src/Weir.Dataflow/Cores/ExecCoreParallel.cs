using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// Several workers, or calls in flight. Messages are claimed one at a time and in their order, so that a call may wait for what an earlier one does, or
/// for as many later ones as there are workers.
/// </content>
internal abstract partial class ExecCore<T>
{
    /// <summary>After so many calls, a worker looks whether listeners want them.</summary>
    private const int CallsPerLook = 32;

    /// <summary>Another worker, if there is something for it and there may be one.</summary>
    private void Help(InputQueue<T> queue)
    {
        if (!queue.IsEmpty && _workers.TryJoin())
        {
            QueueWorker(again: false);
        }
    }

    private void WorkParallel()
    {
        ref BiasedLock claims = ref _claims!.Value;
        InputQueue<T> queue = _queue!;
        int budget = Options.MessagesPerTask;
        int calls = 0;
        bool isFirst = true;
        while (true)
        {
            if (_workers.IsCrowded && _workers.TryLeave())
            {
                return;
            }

            if (budget == 0)
            {
                QueueWorker(again: true);
                return;
            }

            LockOwner? key = claims.Enter();
            bool any = queue.TryTake(out T? item, out long id);
            if (any && _dropped)
            {
                queue.DiscardTaken();
                any = false;
            }

            claims.Exit(key);
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
            else if (TryRest(queue))
            {
                return;
            }
        }
    }
}
