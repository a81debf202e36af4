using System.Runtime.CompilerServices;
using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Core.Threads;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The input side of a block that runs a delegate: a queue, and up to MaxDegreeOfParallelism workers that empty it.</summary>
/// <remarks>
/// <para>
/// <b>Who touches the queue.</b> Senders write it, under the input lock. One thread at a time reads it, without that lock: the only worker, or with several
/// workers the one that holds the <i>read lock</i>. It takes one message at a time and in their order, so a call may wait for what an earlier one does, or for
/// as many later ones as there are workers.
/// </para>
/// <para>
/// <b>Workers.</b> A worker is this object as a work item, queued or running. <see cref="WorkerCount"/> counts the workers and the asynchronous calls that have
/// not ended. With one worker, a pending call counts in the worker's place, so that nobody else reads the queue; whoever ends the call then queues the worker
/// again. With several, a pending call counts beside its worker, which leaves if there are more than the degree allows.
/// </para>
/// <para>
/// <b>No wake-up is lost.</b> A sender stores its message, makes a light fence, and adds a worker if the degree allows one more. A worker that finds nothing
/// goes idle: it subtracts itself, makes all processors fence, and then looks at the queue once more. So one of them sees the other. If nobody else owns the
/// input lock, it subtracts itself under that lock instead, which costs less than the fence.
/// </para>
/// <para>
/// <b>A work item</b> makes at most MaxMessagesPerTask calls, and then queues itself again. It runs in the execution context of the thread that made the
/// worker.
/// </para>
/// <para>
/// <b>The end.</b> The input is drained when nobody is counted and the queue is empty. After a fault or a cancellation, the messages that are left are
/// discarded by the worker, because only the reader may take them out.
/// </para>
/// </remarks>
internal abstract class ExecCore<T> : TargetCore<T>, IThreadPoolWorkItem, IAfterLock, IMeteredBlock
{
    /// <summary>After so many calls, one of several workers looks whether listeners want them.</summary>
    private const int CallsPerCheck = 32;

    /// <summary>The worker of a dense stream that finds fewer messages waits a moment once, so that it reads memory that the writer has left.</summary>
    private const int FewMessages = 64;

    /// <summary>If it finds fewer than this after that moment, the stream is not dense, and the worker waits less often.</summary>
    private const int SparseMessages = 16;
    private const int LooksWithoutWait = 64;

    /// <summary>How often at most a worker that finds nothing looks again before it goes idle: about 1 us.</summary>
    private static readonly int MostSpins = Environment.ProcessorCount > 1 ? 8 : 0;

    // Immutable.

    /// <summary>The lock of the worker that takes a message out of the queue. Null if there is only one at a time.</summary>
    private readonly StrongBox<BiasedLock>? _readLock;

    // Under the input lock.

    /// <summary>Created by the first message. Its remarks say who touches what is in it.</summary>
    private InputQueue<T>? _queue;

    /// <summary>What waits is discarded. Workers read it without the lock.</summary>
    private volatile bool _discards;

    /// <summary>Whether listeners want each call. Workers read it without the lock.</summary>
    private bool _isWatched;

    // Of the only worker.

    /// <summary>How often it looks again before it goes idle. It grows when a look found a message, and shrinks when none did.</summary>
    private int _spinLimit;

    // Under the monitor of this object.

    /// <summary>
    /// The execution context of the thread that made the last worker. Dropped when the block is idle, because it may keep anything alive. The pool's own
    /// context, which holds nothing of anybody's, is set without the monitor. A worker reads it without: of two threads that make workers at once, each may get
    /// either's context, whole, and a context never changes.
    /// </summary>
    private ExecutionContext? _context;

    // Atomic: their types say how.
    private WorkerCount _workers;
    private CallHandlePool _handles;

    protected ExecCore(BlockOptions options, bool workerFrees = false)
        : base(options, workerFrees)
    {
        _workers = new WorkerCount(options.Parallelism);
        _readLock = IsSerial ? null : new StrongBox<BiasedLock>();
    }

    public int InputCount
    {
        get
        {
            LockOwner? key = StateLock.Enter();
            long count = _discards ? 0 : _queue?.Count ?? 0;
            StateLock.Exit(key);
            return (int)count;
        }
    }

    public override bool AcceptsDirectly => true;

    /// <summary>Whether the block discards what it has not begun to process.</summary>
    protected bool Discards => _discards;

    private bool IsSerial => _workers.IsSerial;

    // What a derived class does with a message.

    /// <summary>Runs the delegate for one message. Throws nothing.</summary>
    /// <returns>Whether the message is done. If not, <see cref="PendingDone"/> has to be called once it is.</returns>
    protected abstract bool Process(T item, long id);

    /// <summary>The task that the delegate returned has ended, or there was none. Throws nothing.</summary>
    /// <returns>What the call has to wait for next, or null if it has ended.</returns>
    protected virtual Task? TaskDone(T item, long id, Task? task, bool onWorker) => null;

    /// <summary>Processes messages at the head of the queue, and takes them one by one.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="items">The messages.</param>
    /// <param name="budget">How many messages this work item may still process.</param>
    /// <returns>Whether this worker continues. Otherwise it has been queued again, or a call is pending.</returns>
    protected virtual bool ProcessAll(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget) => ProcessEach(queue, items, ref budget);

    // Messages come.

    public sealed override bool Post(T item)
    {
        if (IsBounded)
        {
            return base.Post(item);
        }

        // The message only has to be put into the queue.
        LockOwner? key = StateLock.Enter();
        if (IsDecliningNeedsLock)
        {
            StateLock.Exit(key);
            return false;
        }

        IAfterLock? after = EnqueueNeedsLock(item);
        StateLock.Exit(key);
        after?.AfterLock();
        return true;
    }

    public sealed override bool TryAcceptDirect(T item, int sourceId, out IAfterLock? after)
    {
        if (IsBounded)
        {
            return base.TryAcceptDirect(item, sourceId, out after);
        }

        LockOwner? key = StateLock.Enter(sourceId);
        if (IsDecliningNeedsLock)
        {
            StateLock.Exit(key);
            after = null;
            return false;
        }

        after = EnqueueNeedsLock(item);
        StateLock.Exit(key);
        return true;
    }

    protected override IAfterLock? StoreNeedsLock(T item) => EnqueueNeedsLock(item);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private IAfterLock? EnqueueNeedsLock(T item)
    {
        InputQueue<T>? queue = _queue ?? TryBeginQueue();
        if (queue is null || !queue.TryEnqueue(item))
        {
            return NoMemory.Instance;
        }

        ProcessBarrier.Light();
        return _workers.TryJoin() ? this : null;
    }

    private InputQueue<T>? TryBeginQueue()
    {
        try
        {
            _queue = new InputQueue<T>();
            _queue.Listed.Begin(this);
            return _queue;
        }
        catch (OutOfMemoryException)
        {
            return null;
        }
    }

    /// <summary>A message needs a worker, which the sender has counted: queues it.</summary>
    public void AfterLock()
    {
        CheckForListeners();
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

        // A sender on a thread of the pool that soon waits for the block then runs the worker itself. If it does not wait, another thread takes the worker.
        QueueWorker(again: false, preferLocal: true);
    }

    // Workers.

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
            // A worker catches what the delegate throws, so this one has not begun.
            WorkerLost(e);
        }
    }

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

    private void WorkSerial()
    {
        InputQueue<T> queue = _queue!;
        int budget = Options.MessagesPerTask;
        int spins = 0;
        int looks = 0;
        bool waited = false;
        while (true)
        {
            ReadOnlySpan<T> items = queue.Peek();
            if (items.IsEmpty || _discards)
            {
                if (spins < _spinLimit && !_discards && !IsDeclining)
                {
                    // Otherwise, a writer that is as fast as the worker would find it idle at every message. It writes alone for a moment, so that there is
                    // more than one message the next time. A block that declines has no writer any more.
                    spins++;
                    Thread.SpinWait(16);
                    continue;
                }

                if (spins > 0)
                {
                    _spinLimit /= 2;
                    spins = 0;
                }

                if (TryGoIdle(queue))
                {
                    return;
                }

                continue;
            }

            if (!IsBounded && items.Length < FewMessages && _spinLimit >= 2 && queue.Count < FewMessages && !IsDeclining)
            {
                if (!waited && looks == 0)
                {
                    waited = true;
                    Thread.SpinWait(16);
                    continue;
                }

                looks = !waited ? looks - 1 : items.Length < SparseMessages ? LooksWithoutWait : 0;
            }

            waited = false;

            // The worker does not begin to spin where messages come one at a time, or cannot pile up: in a small block, the next ones come once their senders
            // have run, perhaps on this thread.
            if (spins > 0)
            {
                _spinLimit = Math.Min(_spinLimit + 1, MostSpins);
                spins = 0;
            }
            else if (items.Length >= 4 && _spinLimit < 2 && Options.Capacity >= FewMessages)
            {
                _spinLimit = Math.Min(2, MostSpins);
            }

            CheckForListeners();
            queue.IsInCall = true;
            if (!(_isWatched ? ProcessEach(queue, items, ref budget) : ProcessAll(queue, items, ref budget)))
            {
                return;
            }

            queue.IsInCall = false;
        }
    }

    private bool ProcessEach(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
    {
        long id = queue.ReadCount;
        foreach (ref readonly T slot in items)
        {
            if (_discards)
            {
                break;
            }

            if (budget-- == 0)
            {
                queue.IsInCall = false;
                QueueWorker(again: true);
                return false;
            }

            T item = slot;
            queue.Take(in slot);
            if (!Call(item, id++))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Processes messages by calls that have ended when they return. Compiled for each kind of call, with nothing else between two messages.</summary>
    protected bool ProcessAll<TCall>(TCall call, InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
        where TCall : struct, IMessageCall
    {
        int done = 0;
        while (done < items.Length)
        {
            T item = default!;
            try
            {
                do
                {
                    if (_discards)
                    {
                        return true;
                    }

                    if (budget-- == 0)
                    {
                        queue.IsInCall = false;
                        QueueWorker(again: true);
                        return false;
                    }

                    ref readonly T slot = ref items[done++];
                    item = slot;
                    queue.Take(in slot);
                    call.Run(item);
                }
                while (done < items.Length);
            }
            catch (Exception e)
            {
                ProcessFailed(item, e);
                call.Failed();
            }
        }

        return true;
    }

    private void WorkParallel()
    {
        ref BiasedLock claims = ref _readLock!.Value;
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
            if (any && _discards)
            {
                queue.DiscardTaken();
                any = false;
            }

            claims.Exit(key);
            if (any)
            {
                if (isFirst)
                {
                    // Each worker brings the next, as long as there are messages.
                    isFirst = false;
                    AddWorkerIfNeeded(queue);
                }

                if ((calls++ & (CallsPerCheck - 1)) == 0)
                {
                    CheckForListeners();
                }

                budget--;
                Call(item!, id);
            }
            else if (TryGoIdle(queue))
            {
                return;
            }
        }
    }

    /// <summary>Adds a worker, if there is a message for it and the degree allows one more.</summary>
    private void AddWorkerIfNeeded(InputQueue<T> queue)
    {
        if (!queue.IsEmpty && _workers.TryJoin())
        {
            QueueWorker(again: false);
        }
    }

    private void QueueWorker(bool again, bool preferLocal = false)
    {
        try
        {
            Sync.Work.Queue(this, Options.Scheduler, again, preferLocal);
        }
        catch (Exception e)
        {
            WorkerLost(e);
        }
    }

    /// <summary>A worker that is counted does not begin: the block fails.</summary>
    private void WorkerLost(Exception error)
    {
        LockOwner? key = StateLock.Enter();
        try
        {
            // A worker that is counted keeps others from being the only reader.
            Discard(_queue);
            _workers.Add(-1);
            CompleteNeedsLock(error, discard: true, always: true);
        }
        finally
        {
            ExitAndRun(key, null);
        }
    }

    // A worker finds nothing.

    /// <summary>Goes idle, so that this is no worker any more, unless a message came in the meantime.</summary>
    private bool TryGoIdle(InputQueue<T> queue)
    {
        if (_discards)
        {
            Discard(queue);
        }

        if (!StateLock.HasOtherOwner)
        {
            // Nobody owns the lock, or this thread does. To enter it is cheaper than the barrier.
            LockOwner? key = StateLock.EnterToGoIdle();
            bool isIdle = queue.IsEmpty;
            if (isIdle)
            {
                _workers.Add(-1);
            }

            ExitAndRun(key, null);
            if (isIdle)
            {
                ForgetContext();
            }

            return isIdle;
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

    /// <summary>A worker has gone idle: if it was the last, the context is dropped.</summary>
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
        LockOwner? claim = _readLock?.Value.Enter();
        queue?.Discard();
        _readLock?.Value.Exit(claim);
    }

    protected override void DiscardNeedsLock()
    {
        // The reader empties the queue. InputCount says at once that nothing is left.
        _discards = true;
    }

    protected override bool IsDrainedNeedsLock() => _workers.Busy == 0 && (_queue is null || _queue.IsEmpty);

    // Calls that have not ended when the delegate returns.

    /// <summary>Deals with the task that the delegate returned: now if it has ended, or when it does. Null counts as ended.</summary>
    /// <returns>Whether the message is done, as for <see cref="Process"/>.</returns>
    protected bool ProcessTask(T item, long id, Task? task)
    {
        do
        {
            if (task is { IsCompleted: false })
            {
                // The call counts from now on, which has to come before anything can end it.
                int calls = IsSerial ? 0 : 1;
                _workers.Add(calls);
                try
                {
                    _handles.Rent(this).Await(task, item, id);
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

            task = TaskDone(item, id, task, onWorker: true);
        }
        while (task is not null);

        return true;
    }

    /// <summary>The task that a call waited for has ended.</summary>
    public void CallDone(CallHandle handle, Task task, T item, long id)
    {
        CallWatch? watch = CallEnds(out Exception? outer);
        Task? next = TaskDone(item, id, task, onWorker: false);
        watch?.Exit(id, isDone: next is null, outer);
        if (next is not null)
        {
            handle.Await(next, item, id);
            return;
        }

        _handles.Return(handle, Options.Parallelism);
        PendingDone();
    }

    /// <summary>An asynchronous call has ended, and its result is dealt with.</summary>
    protected void PendingDone()
    {
        if (_workers.TryLeave())
        {
            return;
        }

        // Any thread of the user's may end a call, so a work item of the block does what is left to do.
        InputQueue<T> queue = _queue!;
        queue.IsInCall = false;
        if ((!queue.IsEmpty && !_discards) || !TryGoIdle(queue))
        {
            QueueWorker(again: false, preferLocal: true);
        }
    }

    // Calls that fail.

    /// <summary>The delegate threw, or its task did.</summary>
    protected void ProcessFailed(T item, Exception exception)
    {
        Failed(exception);
        if (!Protocol.IsCancellation(exception))
        {
            Protocol.AddValue(exception, item);
            Complete(exception, discard: true, always: true);
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
                Complete(exception, discard: true, always: true);
            }
        }
    }

    private void Failed(Exception error)
    {
        if (_queue is { } queue)
        {
            Exception? failure = Protocol.IsCancellation(error) ? null : error;
            if (failure is not null && queue.Watch is not null)
            {
                CallWatch.Failed(failure);
            }

            queue.Listed.Failed(this, failure);
        }
    }

    // For listeners. Counts are read when somebody asks. Each call is told only while somebody wants that: the worker looks when it takes some messages
    // together, and so does whoever makes a worker.

    IDataflowBlock IMeteredBlock.Block => Self;

    string? IMeteredBlock.Name => Options.GivenName(Self);

    int? IMeteredBlock.Capacity => Options.Bound;

    int? IMeteredBlock.Parallelism => Options.Parallelism;

    object[] IMeteredBlock.LinkedNow => LinkedNow;

    /// <summary>The linked targets, read without a lock.</summary>
    protected virtual object[] LinkedNow => (Self as IReliableSource)?.LinkedNow ?? [];

    /// <summary>How many results wait to be taken, read without a lock.</summary>
    protected virtual int OutputNow => 0;

    /// <summary>How many results have left, read without a lock.</summary>
    protected virtual long SentNow => 0;

    BlockSample IMeteredBlock.Sample()
    {
        BlockSample sample = default;
        if (_queue is { } queue)
        {
            // How many were taken is read before what is in its call, and before how many came. A worker that waits for a thread has taken none.
            long taken = queue.TakenNow;
            long inFlight = IsSerial ? queue.IsInCall ? 1 : 0 : Math.Min(Math.Min(_workers.Busy, Options.Parallelism), taken);
            sample.Discarded = queue.DiscardedNow;
            sample.Processed = Math.Max(0, taken - inFlight - sample.Discarded);
            sample.InFlight = inFlight;
            sample.Received = queue.WrittenNow;
            sample.Queued = _discards ? 0 : Math.Max(0, sample.Received - taken);
            sample.Output = OutputNow;
            sample.Sent = SentNow;
        }

        return sample;
    }

    /// <summary>The block is complete.</summary>
    protected void EndMetering() => _queue?.Listed.End(this);

    /// <summary>The message that was just taken is discarded. For the reader.</summary>
    protected void DiscardTaken() => _queue!.DiscardTaken();

    /// <summary>An asynchronous call has ended, and this thread deals with its result. To be followed by <see cref="CallWatch.Exit"/>.</summary>
    protected CallWatch? CallEnds(out Exception? outer)
    {
        CallWatch? watch = _queue!.Watch;
        outer = watch is null ? null : CallWatch.Enter();
        return watch;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool Call(T item, long id) => _isWatched ? CallWatched(item, id) : Process(item, id);

    private bool CallWatched(T item, long id)
    {
        CallWatch watch = _queue!.Watch!;
        Exception? outer = watch.Begin(id);
        bool isDone = Process(item, id);
        watch.Exit(id, isDone, outer);
        return isDone;
    }

    /// <summary>Looks whether listeners want each call. Runs listeners' code the first time that there are any, so not under a lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void CheckForListeners()
    {
        BlockListeners.Look();
        if (BlockListeners.WantsCalls != _isWatched)
        {
            SwitchWatch();
        }
    }

    private void SwitchWatch()
    {
        LockOwner? key = StateLock.Enter();
        try
        {
            if (_queue is { } queue)
            {
                bool wants = BlockListeners.WantsCalls;
                if (wants && queue.Watch is null)
                {
                    queue.Watch = queue.Listed.Label(this) is { } label ? new CallWatch(label) : null;
                }

                Volatile.Write(ref _isWatched, wants && queue.Watch is not null);
            }
        }
        catch (OutOfMemoryException)
        {
            // Then nobody is told.
        }
        finally
        {
            StateLock.Exit(key);
        }
    }

    // For debuggers.

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.Input = _discards ? Array.Empty<T>() : _queue?.ToArray() ?? [];
    }

    /// <summary>What a block does with each message. A struct, so that the loop around it is compiled for each kind.</summary>
    protected interface IMessageCall
    {
        /// <summary>Calls the delegate, and handles what it returns.</summary>
        void Run(T item);

        /// <summary>The delegate threw; the exception has been recorded.</summary>
        void Failed();
    }

    /// <summary>Waits for one asynchronous call of the delegate, and is reused for the next one.</summary>
    internal sealed class CallHandle
    {
        private readonly ExecCore<T> _owner;
        private readonly Action _continuation;
        private Task? _task;
        private T? _item;
        private long _id;

        public CallHandle(ExecCore<T> owner)
        {
            _owner = owner;
            _continuation = Continue;
        }

        public void Await(Task task, T item, long id)
        {
            _task = task;
            _item = item;
            _id = id;
            task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_continuation);
        }

        private void Continue()
        {
            Task task = _task!;
            T item = _item!;
            long id = _id;
            _task = null;
            _item = default;
            _owner.CallDone(this, task, item, id);
        }
    }

    /// <summary>The handles of a block that are not in use, for its next calls.</summary>
    /// <remarks>
    /// With one call at a time, <c>_pooled</c> has one user and needs no exchange: a call ends before the next one rents its handle. With several, a handle is
    /// rented by an exchange, because two calls with the same handle would end each other. It is returned by a plain write to an element that looked free: the
    /// worst that a race does is to lose a handle to the garbage collector.
    /// </remarks>
    private struct CallHandlePool
    {
        /// <summary>When more calls than this are in flight, the others create their own handles.</summary>
        private const int Most = 16;

        /// <summary>A handle if there is one call at a time; otherwise an array of handles. It is one field, because most blocks need neither.</summary>
        private object? _pooled;

        /// <summary>A handle for a call of this block.</summary>
        public CallHandle Rent(ExecCore<T> owner)
        {
            object? pooled = Volatile.Read(ref _pooled);
            if (pooled is CallHandle only)
            {
                // This is the only call.
                _pooled = null;
                return only;
            }

            if (pooled is CallHandle?[] several)
            {
                for (int i = 0; i < several.Length; i++)
                {
                    if (Volatile.Read(ref several[i]) is not null && Interlocked.Exchange(ref several[i], null) is { } other)
                    {
                        return other;
                    }
                }
            }

            MemoryPoint.Pass(typeof(CallHandle));
            return new CallHandle(owner);
        }

        /// <summary>Takes a handle back.</summary>
        public void Return(CallHandle handle, int parallelism)
        {
            if (parallelism == 1)
            {
                Volatile.Write(ref _pooled, handle);
                return;
            }

            CallHandle?[] several = (CallHandle?[])(Volatile.Read(ref _pooled)
                ?? Interlocked.CompareExchange(ref _pooled, new CallHandle?[Math.Min(parallelism, Most)], null)
                ?? _pooled);
            for (int i = 0; i < several.Length; i++)
            {
                if (Volatile.Read(ref several[i]) is null)
                {
                    Volatile.Write(ref several[i], handle);
                    return;
                }
            }
        }
    }
}

/// <summary>How many workers of a block are queued or running, plus the calls that have not ended.</summary>
/// <remarks>
/// It is changed without a lock. A sender stores its message first and then reads the count; a worker that goes idle subtracts itself first and then looks at
/// the queue. In the other order, a message could stay behind without a worker. Both changes that have a bound are compare-and-swaps, so that two threads
/// cannot pass the bound together.
/// </remarks>
internal struct WorkerCount(int parallelism)
{
    // The calls that are pending count beside the workers, so both together must fit.
    private readonly int _parallelism = Math.Min(parallelism, int.MaxValue / 2);
    private int _busy;

    public int Busy => Volatile.Read(ref _busy);

    /// <summary>Whether there can be one worker at the most.</summary>
    public readonly bool IsSerial => _parallelism == 1;

    /// <summary>Whether there are more workers than the degree allows, because calls are pending.</summary>
    public bool IsCrowded => Busy > _parallelism;

    /// <summary>Adds a worker, if the degree allows one more.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryJoin() => Busy < _parallelism && TryJoinSlow();

    /// <summary>Removes a worker, if there are too many. Those that stay look at the queue before they go idle.</summary>
    public bool TryLeave()
    {
        while (true)
        {
            int busy = Busy;
            if (busy <= _parallelism)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref _busy, busy - 1, busy) == busy)
            {
                return true;
            }
        }
    }

    /// <summary>Adds a pending call that counts beside its worker, or removes a worker or a call, whatever the degree.</summary>
    public void Add(int count) => Interlocked.Add(ref _busy, count);

    private bool TryJoinSlow()
    {
        while (true)
        {
            int busy = Busy;
            if (busy >= _parallelism)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref _busy, busy + 1, busy) == busy)
            {
                return true;
            }
        }
    }
}
