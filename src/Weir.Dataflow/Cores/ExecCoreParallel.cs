using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>Several workers, or calls in flight.</content>
internal abstract partial class ExecCore<T>
{
    private RingQueue<T> _queue;
    private long _nextId;
    private int _workers;
    private int _pending;

    private void PendingDoneParallel()
    {
        GateOwner? key = Gate.Enter();
        _pending--;
        bool queue = WantsWorkerNeedsLock();
        _workers += queue ? 1 : 0;
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
        _pending++;
        Gate.Exit(key);
    }

    private ExecCore<T>? StoreParallelNeedsLock(T item)
    {
        _queue.Enqueue(item);
        if (!WantsWorkerNeedsLock())
        {
            return null;
        }

        _workers++;
        return this;
    }

    private bool IsDrainedParallelNeedsLock() => _queue.Count == 0 && _workers == 0 && _pending == 0;

    private bool WantsWorkerNeedsLock() => _queue.Count > 0 && _workers + _pending < Options.Parallelism;

    private void WorkParallel()
    {
        int budget = Options.MessagesPerTask;
        while (true)
        {
            GateOwner? key = Gate.Enter();
            AssertInvariants();
            if (_queue.Count == 0 || budget == 0 || _workers + _pending > Options.Parallelism)
            {
                _workers--;
                bool again = WantsWorkerNeedsLock();
                _workers += again ? 1 : 0;
                bool finish = TryFinishNeedsLock();
                Gate.Exit(key);
                FinishIf(finish);
                if (again)
                {
                    QueueWorker(again: true);
                }

                return;
            }

            T item = _queue.Dequeue();
            long id = _nextId++;
            Gate.Exit(key);
            Process(item, id);
            budget--;
        }
    }
}
