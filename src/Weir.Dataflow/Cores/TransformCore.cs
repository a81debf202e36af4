using System.Runtime.InteropServices;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a TransformBlock: one output for each message.</summary>
/// <remarks>
/// <para>
/// The blocks of this file run a delegate (<see cref="ExecCore{T}"/>) and give what it returns to an output (<see cref="SourceCore{T}"/>). With one worker, or
/// if order does not matter, an output is added as soon as the delegate has returned it. With several workers, <see cref="OrderedOutput{T}"/> holds it until
/// all earlier messages have theirs.
/// </para>
/// <para>
/// <b>Room.</b> A message keeps its room in a bounded block until its output has left. If it has no output, the room is free at once. If it has several, each
/// further one takes room beyond the capacity, so that the delegate never waits for room that only its own outputs could make.
/// </para>
/// <para>
/// <b>The end.</b> When the input has ended, the output is told, and completes the block when the last output has left.
/// </para>
/// </remarks>
internal sealed class TransformCore<TIn, TOut> : OutputExecCore<TIn, TOut>
{
    private readonly Func<TIn, TOut>? _transform;
    private readonly Func<TIn, Task<TOut>>? _asyncTransform;

    public TransformCore(
        IPropagatorBlock<TIn, TOut> owner, Func<TIn, TOut>? transform, Func<TIn, Task<TOut>>? asyncTransform, BlockOptions options)
        : base(owner, options)
    {
        _transform = transform;
        _asyncTransform = asyncTransform;
        ListenToToken();
    }

    protected override bool Process(TIn item, long id)
    {
        TOut output = default!;
        Task? task = null;
        try
        {
            if (_transform is not null)
            {
                output = _transform(item);
            }
            else
            {
                task = _asyncTransform!(item);
            }
        }
        catch (Exception e)
        {
            return Threw(item, id, e);
        }

        if (_transform is null)
        {
            return ProcessTask(item, id, task);
        }

        Emit(item, id, output);
        return true;
    }

    protected override bool ProcessAll(InputQueue<TIn> queue, ReadOnlySpan<TIn> items, ref int budget) =>
        _transform is null || IsBounded
            ? base.ProcessAll(queue, items, ref budget)
            : ProcessAll(new Call(_transform, Source), queue, items, ref budget);

    protected override Task? TaskDone(TIn item, long id, Task? task, bool onWorker)
    {
        if (task is { IsCompletedSuccessfully: true })
        {
            Emit(item, id, ((Task<TOut>)task).Result);
        }
        else
        {
            TaskFailed(item, task);
            EmitNothing(item, id, onWorker);
        }

        return null;
    }

    private readonly struct Call(Func<TIn, TOut> transform, SourceCore<TOut> source) : IMessageCall
    {
        public void Run(TIn item) => source.AddSerial(transform(item))?.AfterLock();

        public void Failed()
        {
            // There is no output, so nothing waits for it.
        }
    }
}

/// <summary>What blocks that run a delegate and have an output side have in common.</summary>
internal abstract class OutputExecCore<TIn, TOut> : ExecCore<TIn>, IOutputHost
{
    protected OutputExecCore(IPropagatorBlock<TIn, TOut> owner, BlockOptions options)
        : base(options)
    {
        Source = new SourceCore<TOut>(owner, this, options);
        Ordered = options.Ordered && options.Parallelism > 1 ? new OrderedOutput<TOut>(Source, options.IsBounded) : null;
    }

    public SourceCore<TOut> Source { get; }

    protected OrderedOutput<TOut>? Ordered { get; }

    /// <summary>Whether outputs are added one at a time.</summary>
    private bool AddsSerially => Options.Ordered || Options.Parallelism == 1;

    protected override int OutputNow => Source.CountNow;

    protected override long SentNow => Source.SentNow;

    protected override object[] LinkedNow => Source.LinkedNow;

    protected override ITargetBlock<TIn> Self => (ITargetBlock<TIn>)Source.Owner;

    void IOutputHost.OutputLeft(int weight) => Free(weight, onWorker: false);

    void IOutputHost.OutputFailed() => Complete(null, discard: true);

    void IOutputHost.OutputCompleted()
    {
        StopListening();
        EndMetering();
    }

    /// <summary>Gives the one output of a message to the output side. Does not throw: if it cannot be stored, the block fails.</summary>
    protected void Emit(TIn item, long id, TOut output)
    {
        try
        {
            if (Ordered is not null)
            {
                Ordered.Add(id, output);
            }
            else
            {
                AddOutput(output);
            }
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }
    }

    /// <summary>Adds an output to the output side. If there is an order, all earlier messages have theirs there already.</summary>
    protected void AddOutput(TOut output) => (AddsSerially ? Source.AddSerial(output) : Source.Add(output))?.AfterLock();

    /// <summary>The delegate threw, so there is no output.</summary>
    protected bool Threw(TIn item, long id, Exception exception)
    {
        ProcessFailed(item, exception);
        EmitNothing(item, id, onWorker: true);
        return true;
    }

    /// <summary>The message has no output: its room is free, and later messages need not wait for it. Does not throw.</summary>
    protected void EmitNothing(TIn item, long id, bool onWorker)
    {
        try
        {
            Ordered?.End(id, null);
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        Free(1, onWorker);
    }

    protected override void Cancelled()
    {
        base.Cancelled();
        Source.Reconsider();
    }

    protected override void Finished(List<Exception>? exceptions) => Source.Complete(exceptions);
}

/// <summary>The core of a TransformManyBlock: any number of outputs for each message.</summary>
internal sealed class TransformManyCore<TIn, TOut> : OutputExecCore<TIn, TOut>
{
    private readonly Func<TIn, IEnumerable<TOut>>? _transform;
    private readonly Func<TIn, Task<IEnumerable<TOut>>>? _asyncTransform;
    private readonly Func<TIn, IAsyncEnumerable<TOut>>? _streamTransform;

    public TransformManyCore(
        IPropagatorBlock<TIn, TOut> owner,
        Func<TIn, IEnumerable<TOut>>? transform,
        Func<TIn, Task<IEnumerable<TOut>>>? asyncTransform,
        Func<TIn, IAsyncEnumerable<TOut>>? streamTransform,
        BlockOptions options)
        : base(owner, options)
    {
        _transform = transform;
        _asyncTransform = asyncTransform;
        _streamTransform = streamTransform;
        ListenToToken();
    }

    protected override bool Process(TIn item, long id)
    {
        if (_transform is not null)
        {
            return EmitAll(item, id, null, onWorker: true) is not { } rest || ProcessTask(item, id, rest);
        }

        Task? task;
        try
        {
            task = _asyncTransform is not null ? _asyncTransform(item) : Enumerate(_streamTransform!(item), id);
        }
        catch (Exception e)
        {
            return Threw(item, id, e);
        }

        return ProcessTask(item, id, task);
    }

    protected override Task? TaskDone(TIn item, long id, Task? task, bool onWorker)
    {
        if (task is Task<IEnumerable<TOut>> { IsCompletedSuccessfully: true } result)
        {
            return onWorker || Options.OnDefaultScheduler || result.Result is null or TOut[] or List<TOut>
                ? EmitAll(item, id, result, onWorker)
                : EmitOnScheduler(item, id, result);
        }

        TaskFailed(item, task);
        if (_asyncTransform is not null && task is null or Task<IEnumerable<TOut>>)
        {
            EmitNothing(item, id, onWorker);
        }

        // The other tasks have added their outputs themselves, and have said that their message has ended.
        return null;
    }

    /// <summary>Emits what the delegate returned.</summary>
    /// <returns>Null if that is done. Otherwise the call has to wait until earlier messages have ended, and this task emits the rest then.</returns>
    private Task? EmitAll(TIn item, long id, Task<IEnumerable<TOut>>? task, bool onWorker)
    {
        int count = 0;
        List<TOut>? all = null;
        try
        {
            IEnumerable<TOut>? outputs = task is null ? _transform!(item) : task.Result;
            if (outputs is TOut[] array && Options.Parallelism > 1)
            {
                all = EmitTogether(array, ref count);
            }
            else if (outputs is List<TOut> list && Options.Parallelism > 1)
            {
                all = EmitTogether(CollectionsMarshal.AsSpan(list), ref count);
            }
            else if (outputs is not null)
            {
                bool isNext = Ordered is null;
                IEnumerator<TOut>? each = outputs.GetEnumerator();
                try
                {
                    while (!Discards && each.MoveNext())
                    {
                        if (!EmitOne(id, each.Current, ref count, ref isNext))
                        {
                            Task rest = EmitRest(each, id);
                            each = null;
                            return rest;
                        }
                    }
                }
                finally
                {
                    each?.Dispose();
                }
            }
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        try
        {
            EmitEnd(id, all, count, onWorker);
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        return null;
    }

    /// <summary>Emits what the delegate's task returned. The task may have ended on any thread, and to read a sequence runs the user's code.</summary>
    private async Task EmitOnScheduler(TIn item, long id, Task<IEnumerable<TOut>> task)
    {
        Task<Task?> begun;
        try
        {
            begun = Task.Factory.StartNew(
                () => EmitAll(item, id, task, onWorker: true), CancellationToken.None, TaskCreationOptions.DenyChildAttach, Options.Scheduler);
        }
        catch
        {
            EmitNothing(item, id, onWorker: false);
            throw;
        }

        if (await begun.ConfigureAwait(false) is { } rest)
        {
            await rest.ConfigureAwait(false);
        }
    }

    /// <summary>Emits the rest of a sequence once all earlier messages have ended.</summary>
    private async Task EmitRest(IEnumerator<TOut> outputs, long id)
    {
        try
        {
            using (outputs)
            {
                if (await Ordered!.WaitUntilNextAsync(id).ConfigureAwait(false))
                {
                    // To read the sequence runs the user's code, so it belongs on the scheduler.
                    await Task.Factory.StartNew(
                        () =>
                        {
                            while (!Discards && outputs.MoveNext())
                            {
                                ReserveRoom(1);
                                AddOutput(outputs.Current);
                            }
                        },
                        CancellationToken.None,
                        TaskCreationOptions.DenyChildAttach,
                        Options.Scheduler).ConfigureAwait(false);
                }
            }
        }
        finally
        {
            EmitEnd(id, null, count: 1, onWorker: false);
        }
    }

    private async Task Enumerate(IAsyncEnumerable<TOut>? outputs, long id)
    {
        int count = 0;
        bool isNext = Ordered is null;
        try
        {
            if (outputs is not null)
            {
                await foreach (TOut output in outputs.WithCancellation(Options.Token).ConfigureAwait(false))
                {
                    if (!EmitOne(id, output, ref count, ref isNext))
                    {
                        isNext = await Ordered!.WaitUntilNextAsync(id).ConfigureAwait(false);
                    }

                    if (Discards)
                    {
                        break;
                    }
                }
            }
        }
        finally
        {
            EmitEnd(id, null, count, onWorker: false);
        }
    }

    /// <summary>Adds an output to the output side, or holds it until all earlier messages have ended.</summary>
    /// <param name="id">The message.</param>
    /// <param name="output">The output. The first one of a message takes over the message's room, and each further one takes more.</param>
    /// <param name="count">How many outputs the message had.</param>
    /// <param name="isNext">Whether all earlier messages are known to have ended.</param>
    /// <returns>Whether the call may read on. If not, as many of its outputs are held as the block may have, and it has to wait.</returns>
    private bool EmitOne(long id, TOut output, ref int count, ref bool isNext)
    {
        if (++count > 1)
        {
            ReserveRoom(1);
        }

        int held = 0;
        isNext = isNext || !Ordered!.TryHold(id, output, out held);
        if (isNext)
        {
            AddOutput(output);
        }

        return isNext || held < Options.Capacity;
    }

    /// <summary>Adds all outputs of a message one right after the other.</summary>
    /// <returns>Null if that is done. Otherwise the outputs, which have to be held until all earlier messages have ended.</returns>
    private List<TOut>? EmitTogether(ReadOnlySpan<TOut> outputs, ref int count)
    {
        // What is held is copied: the delegate may use its list again.
        List<TOut>? all = Ordered is null ? null : [.. outputs];
        count = outputs.Length;
        if (count > 1)
        {
            ReserveRoom(count - 1);
        }

        if (all is null)
        {
            AfterLocks after = default;
            try
            {
                Source.Add(outputs, ref after);
            }
            finally
            {
                after.Run();
            }
        }

        return all;
    }

    private void EmitEnd(long id, List<TOut>? all, int count, bool onWorker)
    {
        Ordered?.End(id, all);
        if (count == 0)
        {
            Free(1, onWorker);
        }
    }

    private void ReserveRoom(int more)
    {
        if (IsBounded)
        {
            LockOwner? key = StateLock.Enter();
            AddUsedNeedsLock(more);
            StateLock.Exit(key);
        }
    }
}

/// <summary>
/// Puts outputs, which become ready in any order, back into the order of their messages. As many are held here as there are calls ahead of the slowest one, so
/// the block's capacity bounds their number.
/// </summary>
/// <remarks>
/// <para>
/// <b>The next message</b> is the first one that has not ended here. Only its outputs go to the output side. A message has a slot from its first output, or
/// from when its call waits, until it has ended and its outputs were added.
/// </para>
/// <para>
/// <b>Who adds.</b> The lock of this object comes outside the output's state lock. If the block is unbounded, what is held is added under it, because that
/// calls nobody. If it is bounded, an output that leaves takes the input lock: the thread that finds the next message ready sets <c>_emitting</c> and adds
/// without the lock, and nobody else does until it finds that message not ready.
/// </para>
/// <para>
/// <b>A call with many outputs</b> holds them here (<see cref="TryHold"/>). When its message is the next, they are added, and from then on the call adds by
/// itself, without this lock, because nobody else adds until it ends.
/// </para>
/// </remarks>
internal sealed class OrderedOutput<T>(SourceCore<T> source, bool isBounded)
{
    private const int FirstLength = 16;

    // Under the lock.
    private BiasedLock _stateLock;

    /// <summary>The slot of a message is at its number, modulo the length.</summary>
    private Slot[] _slots = new Slot[FirstLength];

    /// <summary>The next message. If an output cannot be added, no message is ever the next again.</summary>
    private long _next;

    /// <summary>A thread adds what was held, without the lock.</summary>
    private bool _emitting;

    /// <summary>The message has this one output.</summary>
    public void Add(long id, T item)
    {
        if (isBounded)
        {
            End(id, new Slot { IsReady = true, HasItem = true, Item = item });
            return;
        }

        AfterLocks after = default;
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (id == _next)
            {
                after.Add(source.AddSerial(item));
                _next++;
                if (_slots[_next & (_slots.Length - 1)].IsReady)
                {
                    EmitNeedsLock(ref after);
                }
            }
            else if (id > _next)
            {
                SlotNeedsLock(id) = new Slot { IsReady = true, HasItem = true, Item = item };
            }
        }
        finally
        {
            _stateLock.Exit(key);
            after.Run();
        }
    }

    /// <summary>The message has ended, with these outputs, or with those that it has added or that are held here.</summary>
    public void End(long id, List<T>? items) => End(id, new Slot { IsReady = true, Items = items });

    /// <summary>Holds an output, unless its message is the next.</summary>
    /// <param name="id">The message.</param>
    /// <param name="item">The output.</param>
    /// <param name="count">How many outputs of the message are held.</param>
    /// <returns>False if the message is the next. Then the output is not held, and the call adds it and all others by itself.</returns>
    public bool TryHold(long id, T item, out int count)
    {
        count = 0;
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (IsNextNeedsLock(id))
            {
                return false;
            }

            if (id >= _next)
            {
                List<T> items = SlotNeedsLock(id).Items ??= [];
                items.Add(item);
                count = items.Count;
            }

            return true;
        }
        finally
        {
            _stateLock.Exit(key);
        }
    }

    /// <summary>Waits until a message, which has not ended, is the next.</summary>
    /// <returns>False if it never is, because the block has failed.</returns>
    public Task<bool> WaitUntilNextAsync(long id)
    {
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (id < _next)
            {
                return Task.FromResult(false);
            }

            return IsNextNeedsLock(id)
                ? Task.FromResult(true)
                : (SlotNeedsLock(id).Waiter = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
        }
        finally
        {
            _stateLock.Exit(key);
        }
    }

    private void End(long id, Slot slot)
    {
        AfterLocks after = default;
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (id < _next)
            {
                return;
            }

            ref Slot own = ref SlotNeedsLock(id);
            slot.Items ??= own.Items;
            own = slot;
            if (!IsNextNeedsLock(id))
            {
                return;
            }

            if (!isBounded)
            {
                // No user's code is called here, and to exit the lock for each output would cost more than the output.
                EmitNeedsLock(ref after);
                return;
            }

            _emitting = true;
        }
        finally
        {
            _stateLock.Exit(key);
            after.Run();
        }

        try
        {
            while (TryTakeReady(out Slot ready))
            {
                Emit(ready);
            }
        }
        catch
        {
            key = _stateLock.Enter();
            GiveUpNeedsLock();
            _stateLock.Exit(key);
            throw;
        }
    }

    private bool IsNextNeedsLock(long id) => id == _next && !_emitting;

    /// <summary>Takes the outputs of the next message, if there are any. If not, the caller stops emitting.</summary>
    private bool TryTakeReady(out Slot ready)
    {
        LockOwner? key = _stateLock.Enter();
        ref Slot head = ref _slots[_next & (_slots.Length - 1)];
        ready = head;
        bool any = ready.IsReady || ready.Items is not null;
        if (ready.IsReady)
        {
            head = default;
            _next++;
        }
        else if (any)
        {
            head.Items = null;
        }
        else
        {
            // The call adds the rest by itself.
            head.Waiter = null;
            _emitting = false;
        }

        _stateLock.Exit(key);
        if (!any)
        {
            ready.Waiter?.TrySetResult(true);
        }

        return any;
    }

    /// <summary>The slot of a message that has not ended.</summary>
    private ref Slot SlotNeedsLock(long id)
    {
        while (id - _next >= _slots.Length)
        {
            Grow();
        }

        return ref _slots[id & (_slots.Length - 1)];
    }

    private void EmitNeedsLock(ref AfterLocks after)
    {
        while (true)
        {
            ref Slot head = ref _slots[_next & (_slots.Length - 1)];
            if (head.HasItem)
            {
                after.Reserve();
                after.Add(source.AddSerial(head.Item!));
            }
            else if (head.Items is { } items)
            {
                source.AddSerial(CollectionsMarshal.AsSpan(items), ref after);
            }

            if (!head.IsReady)
            {
                // The call adds the rest by itself. It does not wait, because there is no bound.
                head.Items = null;
                return;
            }

            head = default;
            _next++;
        }
    }

    private void Emit(in Slot ready)
    {
        if (ready.HasItem)
        {
            source.AddSerial(ready.Item!)?.AfterLock();
        }
        else if (ready.Items is { } items)
        {
            foreach (T item in items)
            {
                source.AddSerial(item)?.AfterLock();
            }
        }
    }

    /// <summary>An output is lost, so what comes after it has to be lost too. The caller gets the exception, and the block fails.</summary>
    private void GiveUpNeedsLock()
    {
        _next = long.MaxValue;
        foreach (ref Slot slot in _slots.AsSpan())
        {
            slot.Waiter?.TrySetResult(false);
            slot = default;
        }
    }

    private void Grow()
    {
        MemoryPoint.Pass(this);
        Slot[] grown = new Slot[checked(_slots.Length * 2)];
        for (long id = _next; id < _next + _slots.Length; id++)
        {
            grown[id & (grown.Length - 1)] = _slots[id & (_slots.Length - 1)];
        }

        _slots = grown;
    }

    private struct Slot
    {
        /// <summary>The message has ended.</summary>
        public bool IsReady;

        /// <summary>It has one output, which is this.</summary>
        public bool HasItem;
        public T? Item;

        /// <summary>It may have several, of which these are held.</summary>
        public List<T>? Items;

        /// <summary>The call waits until its message is the next, before it reads on.</summary>
        public TaskCompletionSource<bool>? Waiter;
    }
}
