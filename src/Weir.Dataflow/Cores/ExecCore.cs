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
internal abstract partial class ExecCore<T> : TargetCore<T>, IThreadPoolWorkItem, IAfterLock, IMeteredBlock
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

    // <content>
    // Several workers, or calls in flight. Messages are claimed one at a time and in their order, so that a call may wait for what an earlier one does, or
    // for as many later ones as there are workers.
    // </content>

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

    // <content>
    // Storing messages, and one worker, which reads the queue without the lock: see <see cref="WorkerCount"/>.
    // </content>

    /// <summary>How often at most a worker that finds nothing looks again before it rests: about 1 us.</summary>
    private static readonly int MostPatience = Environment.ProcessorCount > 1 ? 8 : 0;

    /// <summary>The worker of a dense stream that finds fewer messages waits a moment once, so that it reads memory that the writer has left.</summary>
    private const int FewMessages = 64;

    /// <summary>If it finds fewer than this after that moment, the stream is not dense, and the worker waits less often.</summary>
    private const int SparseMessages = 16;
    private const int LooksWithoutWait = 64;

    private InputQueue<T>? _queue;

    /// <summary>How often the worker looks again before it rests. It grows when a look found a message, and shrinks when none did.</summary>
    private int _patience;

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

    /// <summary>Processes messages of the queue, which are taken one by one.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="items">The messages at its head.</param>
    /// <param name="budget">How many messages this work item may still process.</param>
    /// <returns>Whether this worker continues. Otherwise it has been queued again, or a call is pending.</returns>
    protected virtual bool ProcessAll(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget) => ProcessEach(queue, items, ref budget);

    private bool ProcessEach(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
    {
        long id = queue.ReadCount;
        foreach (ref readonly T slot in items)
        {
            if (_dropped)
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

    /// <summary>Like the other overload, for calls that are done when they return; between two messages it does only what is needed.</summary>
    protected bool ProcessAll<TCall>(TCall call, InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
        where TCall : struct, IMessageCall<T>
    {
        int done = 0;
        while (done < items.Length)
        {
            T item = default!;
            try
            {
                do
                {
                    if (_dropped)
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
            if (items.IsEmpty || _dropped)
            {
                if (spins < _patience && !_dropped)
                {
                    // A writer that is just as fast would otherwise find the worker asleep at every message. Let it write alone for a moment, so that
                    // there is more than one message the next time.
                    spins++;
                    Thread.SpinWait(16);
                    continue;
                }

                if (spins > 0)
                {
                    _patience /= 2;
                    spins = 0;
                }

                if (TryRest(queue))
                {
                    return;
                }

                continue;
            }

            if (!IsBounded && items.Length < FewMessages && _patience >= 2 && queue.Count < FewMessages)
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

            // Not started where messages come one at a time, or cannot pile up.
            if (spins > 0)
            {
                _patience = Math.Min(_patience + 1, MostPatience);
                spins = 0;
            }
            else if (items.Length >= 4 && _patience < 2)
            {
                _patience = Math.Min(2, MostPatience);
            }

            LookForListeners();
            queue.IsInCall = true;
            if (!(_isWatched ? ProcessEach(queue, items, ref budget) : ProcessAll(queue, items, ref budget)))
            {
                return;
            }

            queue.IsInCall = false;
        }
    }

    // <content>
    // What listeners read and are told. Counts are read when somebody asks. Each call is told only while somebody wants that: the worker finds out when it takes
    // some messages together, and whoever wakes it does so too.
    // </content>

    private bool _isWatched;

    Type IMeteredBlock.Type => Self.GetType();

    string? IMeteredBlock.Name => Options.GivenName(Self);

    /// <summary>How many results wait to be taken, read without a lock.</summary>
    protected virtual int OutputNow => 0;

    /// <summary>How many results have left, read without a lock.</summary>
    protected virtual long SentNow => 0;

    BlockSample IMeteredBlock.Sample()
    {
        BlockSample sample = default;
        if (_queue is { } queue)
        {
            // How many were taken is read before what is in its call, and before how many came.
            long taken = queue.TakenNow;
            long inFlight = IsSerial ? queue.IsInCall ? 1 : 0 : Math.Min(_workers.Busy, Options.Parallelism);
            sample.Discarded = queue.DiscardedNow;
            sample.Processed = Math.Max(0, taken - inFlight - sample.Discarded);
            sample.InFlight = inFlight;
            sample.Received = queue.WrittenNow;
            sample.Queued = _dropped ? 0 : Math.Max(0, sample.Received - taken);
            sample.Output = OutputNow;
            sample.Sent = SentNow;
        }

        return sample;
    }

    /// <summary>The block is complete.</summary>
    protected void EndMetering()
    {
        _queue?.Listed.End(this);
    }

    /// <summary>A message that was taken is thrown away. For the reader.</summary>
    protected void DiscardTaken() => _queue!.DiscardTaken();

    /// <summary>An asynchronous call has ended, and this thread deals with its result.</summary>
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
        watch.Left(id, isDone, outer);
        return isDone;
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

    /// <summary>Whether listeners want each call may have changed. Runs listeners' code the first time that there are any: not under a lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void LookForListeners()
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
}

/// <summary>How many workers of a block are queued or running, plus the calls that have not ended.</summary>
/// <remarks>
/// It is the only state of workers that is changed without a lock. A thread that stores a message stores first and then reads the count, and adds a
/// worker if the degree allows one more. A worker that rests subtracts itself first, fences all processors, and then looks at the queue again. So one of them
/// sees the other; in the other order, a message could stay behind without a worker. Both changes with a bound are compare-and-swaps, so that two threads
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

    /// <summary>Removes a worker, if there are too many. Those that stay look at the queue before they rest.</summary>
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

    /// <summary>Adds a call that is pending and counts in addition to its worker, or removes a worker or a call, in any case.</summary>
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

/// <summary>What a block does with each message. A struct, so that the loop around it is compiled for each kind.</summary>
internal interface IMessageCall<in T>
{
    /// <summary>Calls the delegate, and handles what it returns.</summary>
    void Run(T item);

    /// <summary>The delegate threw; the exception has been recorded.</summary>
    void Failed();
}

/// <summary>Waits for one asynchronous call of a block's delegate, and is reused for the next one.</summary>
internal sealed class CallHandle<TIn>
{
    private readonly ExecCore<TIn> _owner;
    private readonly Action _continuation;
    private Task? _task;
    private TIn? _item;
    private long _id;

    public CallHandle(ExecCore<TIn> owner)
    {
        _owner = owner;
        _continuation = Continue;
    }

    public void Await(Task task, TIn item, long id)
    {
        _task = task;
        _item = item;
        _id = id;
        task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_continuation);
    }

    private void Continue()
    {
        Task task = _task!;
        TIn item = _item!;
        long id = _id;
        _task = null;
        _item = default;
        _owner.CallDone(this, task, item, id);
    }
}

/// <summary>The unused handles of a block, kept for its next calls.</summary>
/// <remarks>
/// With one call at a time, <c>_kept</c> has one user and needs no exchange: a call ends before the next one takes its handle. With several, a handle is taken
/// by an exchange, because two calls with the same handle would end each other. It is put back with a plain write to a place that looked free. There, the worst
/// that a race does is to lose a handle to the garbage collector.
/// </remarks>
internal struct CallHandles<TIn>
{
    /// <summary>When more calls than this are in flight, the others create their own handles.</summary>
    private const int Most = 16;

    /// <summary>A handle if there is one call at a time; otherwise an array of handles. It is one field, because most blocks need neither.</summary>
    private object? _kept;

    /// <summary>A handle for a call of this block.</summary>
    public CallHandle<TIn> Take(ExecCore<TIn> owner)
    {
        object? kept = Volatile.Read(ref _kept);
        if (kept is CallHandle<TIn> only)
        {
            // This is the only call.
            _kept = null;
            return only;
        }

        if (kept is CallHandle<TIn>?[] several)
        {
            for (int i = 0; i < several.Length; i++)
            {
                if (Volatile.Read(ref several[i]) is not null && Interlocked.Exchange(ref several[i], null) is { } other)
                {
                    return other;
                }
            }
        }

        MemoryPoint.Pass(typeof(CallHandle<TIn>));
        return new CallHandle<TIn>(owner);
    }

    /// <summary>Takes a handle back. If two threads return one to the same place at the same time, one handle is lost.</summary>
    public void Keep(CallHandle<TIn> handle, int parallelism)
    {
        if (parallelism == 1)
        {
            Volatile.Write(ref _kept, handle);
            return;
        }

        CallHandle<TIn>?[] several = (CallHandle<TIn>?[])(Volatile.Read(ref _kept)
            ?? Interlocked.CompareExchange(ref _kept, new CallHandle<TIn>?[Math.Min(parallelism, Most)], null)
            ?? _kept);
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
