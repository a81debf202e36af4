using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Threads;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The input side of a block that runs a delegate: a queue, and up to MaxDegreeOfParallelism workers that empty it.</summary>
/// <remarks>A worker, or an asynchronous call that a worker started and that is not done yet, counts as one of the degree of parallelism.</remarks>
internal abstract partial class ExecCore<T> : TargetCore<T>, IThreadPoolWorkItem, IAfterLock
{
    /// <summary>
    /// The execution context of the thread that made the last worker. Dropped when the block rests, because it may keep anything alive. It is changed
    /// under the monitor of this object, unless it is the pool's own context, which holds nothing of anybody's. A worker reads it without: of two threads that
    /// make workers at once, each may get either's context, whole, and a context never changes.
    /// </summary>
    private ExecutionContext? _context;
    private volatile bool _dropped;
    private WorkerCount _workers;
    private CallHandles<T> _handles;

    /// <summary>The lock of the worker that takes a message out of the queue; null if there is only one at a time.</summary>
    private readonly StrongBox<BiasedLock>? _claims;

    protected ExecCore(BlockOptions options, bool workerFrees = false)
        : base(options, workerFrees)
    {
        _workers = new WorkerCount(options.Parallelism);
        _claims = IsSerial ? null : new StrongBox<BiasedLock>();
    }

    public int InputCount
    {
        get
        {
            LockOwner? key = StateLock.Enter();
            long count = _dropped ? 0 : _queue?.Count ?? 0;
            StateLock.Exit(key);
            return (int)count;
        }
    }

    public override bool AcceptsDirectly => true;

    /// <summary>Whether the block discards what it has not begun to process.</summary>
    protected bool IsDropped => _dropped;

    private bool IsSerial => _workers.IsSerial;

    void IThreadPoolWorkItem.Execute()
    {
        ExecutionContext? context = _context;
        try
        {
            FaultPoint.Pass("ExecCore.Execute", this);
            if (Sync.Work.IsIn(context, Options.Scheduler))
            {
                Work();
            }
            else
            {
                ExecutionContext.Run(context!, static core => ((ExecCore<T>)core!).Work(), this);
            }
        }
        catch (Exception e)
        {
            // It catches what the delegate throws, so it has not begun.
            WorkerLost(e);
        }
    }

    /// <summary>A message came and finds no worker.</summary>
    public void AfterLock()
    {
        LookForListeners();
        ExecutionContext? context = ExecutionContext.Capture();
        if (Sync.Work.IsPoolContext(context))
        {
            _context = context;
        }
        else
        {
            lock (this)
            {
                _context = context;
            }
        }

        QueueWorker(again: false, here: IsBounded);
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.Input = _dropped ? Array.Empty<T>() : _queue?.ToArray() ?? [];
    }

    /// <summary>Runs the delegate for one message; throws nothing.</summary>
    /// <returns>Whether the message is done. Else <see cref="PendingDone"/> has to be called once it is.</returns>
    protected abstract bool Process(T item, long id);

    /// <summary>The delegate threw, or its task did.</summary>
    protected void ProcessFailed(T item, Exception exception)
    {
        Failed(exception);
        if (!Protocol.IsCancellation(exception))
        {
            Protocol.AddValue(exception, item);
            Complete(exception, drop: true, always: true);
        }
    }

    protected void TaskFailed(T item, Task? task)
    {
        if (task is { IsCanceled: true })
        {
            Failed(new TaskCanceledException(task));
        }
        else if (task is { IsFaulted: true })
        {
            Failed(task.Exception.InnerExceptions[0]);
            foreach (Exception exception in task.Exception.InnerExceptions)
            {
                Protocol.AddValue(exception, item);
                Complete(exception, drop: true, always: true);
            }
        }
    }

    /// <summary>Goes on with what the delegate returned: now if it is done, or when it is. Null counts as done.</summary>
    /// <returns>As <see cref="Process"/>.</returns>
    protected bool ProcessTask(T item, long id, Task? task)
    {
        do
        {
            if (task is { IsCompleted: false })
            {
                // From now on, the call counts in the worker's place. Before anything can complete it.
                int calls = IsSerial ? 0 : 1;
                _workers.Add(calls);
                try
                {
                    _handles.Take(this).Await(task, item, id);
                    return false;
                }
                catch (Exception e)
                {
                    // There is no memory to wait for it.
                    _workers.Add(-calls);
                    ProcessFailed(item, e);
                    task = null;
                }
            }

            task = TaskDone(item, id, task, here: true);
        }
        while (task is not null);

        return true;
    }

    /// <summary>What a call waited for has ended.</summary>
    public void CallDone(CallHandle<T> handle, Task task, T item, long id)
    {
        CallWatch? watch = CallEnds(out Exception? outer);
        Task? next = TaskDone(item, id, task, here: false);
        watch?.Left(id, isDone: next is null, outer);
        if (next is not null)
        {
            handle.Await(next, item, id);
            return;
        }

        _handles.Keep(handle, Options.Parallelism);
        PendingDone();
    }

    /// <summary>The task that the delegate returned is done, or there was none. Throws nothing.</summary>
    /// <returns>What the call has to wait for next, or null if it has ended.</returns>
    protected virtual Task? TaskDone(T item, long id, Task? task, bool here) => null;

    /// <summary>An asynchronous call is done, and so is what becomes of its result.</summary>
    protected void PendingDone()
    {
        if (_workers.TryLeave())
        {
            return;
        }

        // Any user thread may complete a call, so what is left to do is for a thread of the block.
        InputQueue<T> queue = _queue!;
        queue.IsInCall = false;
        if ((!queue.IsEmpty && !_dropped) || !TryRest(queue))
        {
            QueueWorker(again: false, here: true);
        }
    }

    protected override IAfterLock? StoreNeedsLock(T item) => EnqueueNeedsLock(item);

    protected override void DropNeedsLock()
    {
        // A queue with a reader is emptied by it; InputCount says at once that nothing is left.
        _dropped = true;
    }

    protected override bool IsDrainedNeedsLock() => _workers.Busy == 0 && (_queue is null || _queue.IsEmpty);

    private void Work()
    {
        if (IsSerial)
        {
            WorkSerial();
        }
        else
        {
            WorkParallel();
        }
    }

    private void QueueWorker(bool again, bool here = false)
    {
        try
        {
            Sync.Work.Queue(this, Options.Scheduler, again, here);
        }
        catch (Exception e)
        {
            WorkerLost(e);
        }
    }

    /// <summary>A worker that others count on does not begin: the block fails.</summary>
    private void WorkerLost(Exception error)
    {
        LockOwner? key = StateLock.Enter();
        try
        {
            // Nobody else is the reader as long as this one is the worker.
            Discard(_queue);
            _workers.Add(-1);
            CompleteNeedsLock(error, drop: true, always: true);
        }
        finally
        {
            Leave(key, null);
        }
    }

    /// <summary>Stops being a worker, unless a message came in the meantime.</summary>
    private bool TryRest(InputQueue<T> queue)
    {
        if (_dropped)
        {
            Discard(queue);
        }

        if (!StateLock.HasOtherOwner)
        {
            // Writers take turns at the lock, or are this thread itself. One more turn is cheaper than the barrier.
            LockOwner? key = StateLock.EnterToRest();
            bool rests = queue.IsEmpty;
            if (rests)
            {
                _workers.Add(-1);
            }

            Leave(key, null);
            if (rests)
            {
                ForgetContext();
            }

            return rests;
        }

        _workers.Add(-1);
        ProcessBarrier.Heavy();
        if (!queue.IsEmpty && _workers.TryJoin())
        {
            return false;
        }

        ForgetContext();
        if (IsDeclining)
        {
            Recheck();
        }

        return true;
    }

    /// <summary>A worker has come to rest: if it was the last, the context is dropped.</summary>
    private void ForgetContext()
    {
        if (!Sync.Work.IsPoolContext(_context))
        {
            lock (this)
            {
                // A thread that begins a worker counts it before it sets its context. So if nobody is counted, the context is an old one.
                if (_workers.Busy == 0)
                {
                    _context = null;
                }
            }
        }
    }

    private void Discard(InputQueue<T>? queue)
    {
        LockOwner? claim = _claims?.Value.Enter();
        queue?.Discard();
        _claims?.Value.Exit(claim);
    }
}
