using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>Several workers, or calls in flight.</content>
internal abstract partial class ExecCore<T>
{
    /// <summary>Null when there is only one worker at a time.</summary>
    private readonly ParallelState? _parallel;

    private void PendingDoneParallel()
    {
        GateOwner? key = Gate.Enter();
        _parallel!.Pending--;
        bool queue = WantsWorkerNeedsLock();
        _parallel!.Workers += queue ? 1 : 0;
        bool finish = TryFinishNeedsLock();
        Gate.Exit(key);
        FinishIf(finish);
        if (queue)
        {
            QueueWorker(again: false);
        }
    }

    private void PendingBeginsParallel()
    {
        GateOwner? key = Gate.Enter();
        _parallel!.Pending++;
        Gate.Exit(key);
    }

    private ExecCore<T>? StoreParallelNeedsLock(T item)
    {
        _parallel!.Queue.Enqueue(item);
        if (!WantsWorkerNeedsLock())
        {
            return null;
        }

        _parallel!.Workers++;
        return this;
    }

    private bool IsDrainedParallelNeedsLock() => _parallel!.Queue.Count == 0 && _parallel!.Workers == 0 && _parallel!.Pending == 0;

    private bool WantsWorkerNeedsLock() => _parallel!.Queue.Count > 0 && _parallel!.Workers + _parallel!.Pending < Options.Parallelism;

    private void WorkParallel()
    {
        int budget = Options.MessagesPerTask;
        while (true)
        {
            GateOwner? key = Gate.Enter();
            AssertInvariants();
            if (_parallel!.Queue.Count == 0 || budget == 0 || _parallel!.Workers + _parallel!.Pending > Options.Parallelism)
            {
                _parallel!.Workers--;
                bool again = WantsWorkerNeedsLock();
                _parallel!.Workers += again ? 1 : 0;
                bool finish = TryFinishNeedsLock();
                Gate.Exit(key);
                FinishIf(finish);
                if (again)
                {
                    QueueWorker(again: true);
                }

                return;
            }

            T item = _parallel!.Queue.Dequeue();
            long id = _parallel!.NextId++;
            Gate.Exit(key);
            Process(item, id);
            budget--;
        }
    }

    private sealed class ParallelState
    {
        public RingQueue<T> Queue;
        public long NextId;
        public int Workers;
        public int Pending;
    }
}
