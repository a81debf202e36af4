using System.Runtime.InteropServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>
/// Puts results, which become ready in any order, back into the order of their messages. As many results wait here as there are calls ahead of the
/// slowest one, so the block's capacity bounds their number.
/// </summary>
/// <remarks>
/// It is the turn of the first message that has not ended here. A call with many results keeps them here before its turn (<see cref="TryKeep"/>). When its turn
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
                after.Add(source.AddInTurn(item));
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
    public bool TryKeep(long id, T item, out int count)
    {
        count = 0;
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (IsTurnNeedsLock(id))
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
    public Task<bool> TurnAsync(long id)
    {
        LockOwner? key = _stateLock.Enter();
        try
        {
            if (id < _next)
            {
                return Task.FromResult(false);
            }

            return IsTurnNeedsLock(id)
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
            if (!IsTurnNeedsLock(id))
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

    private bool IsTurnNeedsLock(long id) => id == _next && !_emitting;

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
                after.Add(source.AddInTurn(head.Item!));
            }
            else if (head.Items is { } items)
            {
                source.AddInTurn(CollectionsMarshal.AsSpan(items), ref after);
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
            source.AddInTurn(ready.Item!)?.AfterLock();
        }
        else if (ready.Items is { } items)
        {
            foreach (T item in items)
            {
                source.AddInTurn(item)?.AfterLock();
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
