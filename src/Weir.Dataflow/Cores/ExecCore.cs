using System.Diagnostics;
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
    /// The execution context of the thread that made the last worker. Dropped when the block rests, because it may keep anything alive. With
    /// several workers that happens under a lock (the state that they share), unless it is the pool's own context.
    /// </summary>
    private ExecutionContext? _context;
    private volatile bool _dropped;

    protected ExecCore(BlockOptions options, bool workerFrees = false)
        : base(options, workerFrees)
    {
        _parallel = options.Parallelism > 1 ? new ParallelState(options.Parallelism) : null;
        _isPlain = !options.IsBounded;
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

    private bool IsSerial => _parallel is null;

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
        if (IsSerial || Sync.Work.IsPoolContext(context))
        {
            _context = context;
        }
        else
        {
            lock (_parallel!)
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

    protected void TaskFailed(T item, Task task)
    {
        if (task.IsCanceled)
        {
            Failed(new TaskCanceledException(task));
        }
        else if (task.IsFaulted)
        {
            Failed(task.Exception.InnerExceptions[0]);
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
        if (IsSerial)
        {
            PendingDoneSerial();
        }
        else
        {
            PendingDoneParallel();
        }
    }

    /// <summary>The call that this worker has just made is not done: from now on it counts in the worker's place. Before anything can complete it.</summary>
    protected void PendingBegins()
    {
        if (!IsSerial)
        {
            _parallel!.Pending();
        }
    }

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        if (_isWatched)
        {
            Watch?.Sent(_queue!.WrittenNow);
        }

        return EnqueueNeedsLock(item);
    }

    protected override void DropNeedsLock()
    {
        // A queue with a reader is emptied by it; InputCount says at once that nothing is left.
        _dropped = true;
    }

    protected override bool IsDrainedNeedsLock() => IsSerial ? IsDrainedSerialNeedsLock() : IsDrainedParallelNeedsLock();

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
            WorkerLostNeedsLock();
            CompleteNeedsLock(error, drop: true, always: true);
        }
        finally
        {
            Leave(key, null);
        }
    }

    /// <summary>A worker of several has come to rest: if it was the last, the context is dropped.</summary>
    private void ForgetContext(ParallelState state)
    {
        if (!Sync.Work.IsPoolContext(_context))
        {
            lock (state)
            {
                // A thread that begins a worker counts it before it sets its context. So if nobody is counted, the context is an old one.
                _context = state.Busy == 0 ? null : _context;
            }
        }
    }

    private void WorkerLostNeedsLock()
    {
        if (IsSerial)
        {
            // Nobody else is the reader as long as this one is the worker.
            _queue?.Discard();
            Volatile.Write(ref _active, 0);
        }
        else
        {
            LockOwner? claim = _parallel!.Claims.Enter();
            _queue?.Discard();
            _parallel.Claims.Exit(claim);
            _parallel.Rest();
        }
    }
}
