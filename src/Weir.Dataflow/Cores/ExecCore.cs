using System.Diagnostics;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The input side of a block that runs a delegate: a queue, and up to MaxDegreeOfParallelism workers that empty it.</summary>
/// <remarks>A worker, or an asynchronous call that a worker started and that is not done yet, counts as one of the degree of parallelism.</remarks>
internal abstract class ExecCore<T> : TargetCore<T>, IThreadPoolWorkItem, IAfterLock
{
    private RingQueue<T> _queue;
    private ExecutionContext? _context;
    private long _nextId;
    private int _workers;
    private int _pending;

    protected ExecCore(BlockOptions options)
        : base(options)
    {
    }

    public int InputCount
    {
        get
        {
            GateOwner? key = Gate.Enter();
            int count = _queue.Count;
            Gate.Exit(key);
            return count;
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        ExecutionContext? context = _context;
        if (context is null)
        {
            Work();
        }
        else
        {
            ExecutionContext.Run(context, static core => ((ExecCore<T>)core!).Work(), this);
        }
    }

    public void AfterLock()
    {
        _context = ExecutionContext.Capture();
        QueueWorker(again: false);
    }

    /// <summary>Runs the delegate for one message; throws nothing.</summary>
    /// <returns>Whether the message is done. Else <see cref="PendingDone"/> has to be called once it is.</returns>
    protected abstract bool Process(T item, long id);

    /// <summary>The delegate threw, or its task did.</summary>
    protected void ProcessFailed(T item, Exception exception)
    {
        if (!Protocol.IsCancellation(exception))
        {
            Protocol.AddValue(exception, item);
            Complete(exception, drop: true, always: true);
        }
    }

    protected void TaskFailed(T item, Task task)
    {
        if (task.IsFaulted)
        {
            foreach (Exception exception in task.Exception.InnerExceptions)
            {
                Protocol.AddValue(exception, item);
                Complete(exception, drop: true, always: true);
            }
        }
    }

    /// <summary>An asynchronous call is done, and so is what becomes of its result.</summary>
    protected void PendingDone()
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

    /// <summary>The call that this worker has just made is not done: from now on it counts in the worker's place. Before anything can complete it.</summary>
    protected void PendingBegins()
    {
        GateOwner? key = Gate.Enter();
        _pending++;
        Gate.Exit(key);
    }

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        _queue.Enqueue(item);
        if (!WantsWorkerNeedsLock())
        {
            return null;
        }

        _workers++;
        return this;
    }

    protected override void DropNeedsLock() => _queue.Clear();

    protected override bool IsDrainedNeedsLock() => _queue.Count == 0 && _workers == 0 && _pending == 0;

    private bool WantsWorkerNeedsLock() => _queue.Count > 0 && _workers + _pending < Options.Parallelism;

    private void QueueWorker(bool again)
    {
        try
        {
            Sync.Work.Queue(this, Options.Scheduler, again);
        }
        catch (Exception e)
        {
            GateOwner? key = Gate.Enter();
            _workers--;
            CompleteNeedsLock(e, drop: true, always: true);
            bool finish = TryFinishNeedsLock();
            Gate.Exit(key);
            FinishIf(finish);
        }
    }

    private void Work()
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
