using System.Runtime.InteropServices;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What a TransformBlock does.</summary>
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

/// <summary>The common part of blocks that run a delegate and have an output side.</summary>
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

    /// <summary>Whether outputs are sent one at a time.</summary>
    private bool AddsSerially => Options.Ordered || Options.Parallelism == 1;

    protected override int OutputNow => Source.CountNow;

    protected override long SentNow => Source.SentNow;

    protected override ITargetBlock<TIn> Self => (ITargetBlock<TIn>)Source.Owner;

    void IOutputHost.OutputLeft(int weight) => Free(weight, onWorker: false);

    void IOutputHost.OutputFailed() => Complete(null, discard: true);

    void IOutputHost.OutputCompleted()
    {
        StopListening();
        EndMetering();
    }

    /// <summary>The message has this one output. Does not throw: if it cannot be stored, the block fails.</summary>
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

    /// <summary>Sends an output. If there is an order, it is the turn of its message.</summary>
    protected void AddOutput(TOut output) => (AddsSerially ? Source.AddSerial(output) : Source.Add(output))?.AfterLock();

    /// <summary>The delegate threw, so there is no output.</summary>
    protected bool Threw(TIn item, long id, Exception exception)
    {
        ProcessFailed(item, exception);
        EmitNothing(item, id, onWorker: true);
        return true;
    }

    /// <summary>The message has no output: its place is free, and later messages need not wait. Does not throw.</summary>
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

/// <summary>What a TransformManyBlock does.</summary>
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

        // What other tasks made was sent as it came, and so was its end.
        return null;
    }

    /// <summary>Sends what the delegate returned.</summary>
    /// <returns>Null if that is done. Otherwise the call has to wait for its turn, and this is what it does from then on.</returns>
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

    /// <summary>Sends what the delegate's task gave. The task may have ended on any thread, and a sequence is the user's code.</summary>
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

    /// <summary>Goes on with a sequence, of which some is kept already, when it is its turn.</summary>
    private async Task EmitRest(IEnumerator<TOut> outputs, long id)
    {
        try
        {
            using (outputs)
            {
                if (await Ordered!.WaitUntilNextAsync(id).ConfigureAwait(false))
                {
                    // The sequence is the user's code, so it belongs on the scheduler.
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

    /// <summary>Sends an output, or keeps it until it is the message's turn.</summary>
    /// <param name="id">The message.</param>
    /// <param name="output">The output. It counts towards the capacity. The first one of a message takes the message's place.</param>
    /// <param name="count">How many the message had.</param>
    /// <param name="isNext">Whether it is known to be the message's turn, which then lasts until its end.</param>
    /// <returns>Whether the call may go on. Otherwise it keeps as many outputs as the block may have, and has to wait for its turn.</returns>
    private bool EmitOne(long id, TOut output, ref int count, ref bool isNext)
    {
        if (++count > 1)
        {
            ReserveRoom(1);
        }

        int kept = 0;
        isNext = isNext || !Ordered!.TryHold(id, output, out kept);
        if (isNext)
        {
            AddOutput(output);
        }

        return isNext || kept < Options.Capacity;
    }

    /// <summary>Sends all outputs of a message one right after the other.</summary>
    /// <returns>Null if that is done. Otherwise they are sent when it is the message's turn.</returns>
    private List<TOut>? EmitTogether(ReadOnlySpan<TOut> outputs, ref int count)
    {
        // Outputs that wait are the block's own: the delegate may use its list again.
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
/// Puts results, which become ready in any order, back into the order of their messages. As many results wait here as there are calls ahead of the
/// slowest one, so the block's capacity bounds their number.
/// </summary>
/// <remarks>
/// It is the turn of the first message that has not ended here. A call with many results keeps them here before its turn (<see cref="TryHold"/>). When its turn
/// comes, these are sent, and from then on the call sends by itself, without this object's lock, because nobody else sends until it ends.
/// </remarks>
internal sealed class OrderedOutput<T>(SourceCore<T> source, bool isBounded)
{
    private const int FirstLength = 16;

    private BiasedLock _stateLock;
    private Slot[] _slots = new Slot[FirstLength];

    /// <summary>The message whose turn it is. When a result cannot be sent, no message ever has its turn again.</summary>
    private long _next;

    /// <summary>A thread sends what waited for its turn, without the lock.</summary>
    private bool _emitting;

    /// <summary>The message has this one result.</summary>
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

    /// <summary>The message has ended, with these results, or with those that it sent or that are kept here.</summary>
    public void End(long id, List<T>? items) => End(id, new Slot { IsReady = true, Items = items });

    /// <summary>Keeps a result of a message whose turn has not come.</summary>
    /// <param name="id">The message.</param>
    /// <param name="item">The result.</param>
    /// <param name="count">How many are kept.</param>
    /// <returns>False if it is the message's turn. Then nothing is kept, and its call sends this result and all others by itself.</returns>
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

    /// <summary>Waits for the turn of a message, which has not ended.</summary>
    /// <returns>False if it never comes, because the block has failed.</returns>
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
                : (SlotNeedsLock(id).Turn = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
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

            ref Slot place = ref SlotNeedsLock(id);
            slot.Items ??= place.Items;
            place = slot;
            if (!IsNextNeedsLock(id))
            {
                return;
            }

            if (!isBounded)
            {
                // No user code is called here, and leaving the lock for each result would cost more than the result.
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

    /// <summary>Takes the next results, if they are there. Otherwise the caller stops emitting.</summary>
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
            // The call goes on by itself.
            head.Turn = null;
            _emitting = false;
        }

        _stateLock.Exit(key);
        if (!any)
        {
            ready.Turn?.TrySetResult(true);
        }

        return any;
    }

    /// <summary>The place of a message that has not ended.</summary>
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
                // The call goes on by itself. It does not wait for its turn, because there is no bound.
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

    /// <summary>A result is lost, so what comes after it has to be lost, too. The caller gets the exception, and the block fails.</summary>
    private void GiveUpNeedsLock()
    {
        _next = long.MaxValue;
        foreach (ref Slot slot in _slots.AsSpan())
        {
            slot.Turn?.TrySetResult(false);
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
        public bool HasItem;
        public T? Item;
        public List<T>? Items;

        /// <summary>The call waits for its turn, before it reads on.</summary>
        public TaskCompletionSource<bool>? Turn;
    }
}
