using System.Runtime.InteropServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>
/// Puts results, which become ready in any order, back into the order of their messages. As many results wait here as there are calls ahead of the
/// slowest one, so the block's capacity bounds their number.
/// </summary>
internal sealed class OrderedOutput<T>(SourceCore<T> source, bool isBounded)
{
    private const int FirstLength = 16;

    private BiasedLock _stateLock;
    private Slot[] _slots = new Slot[FirstLength];
    private long _next;
    private bool _emitting;

    /// <summary>The message has this one result.</summary>
    public void Add(long id, T item)
    {
        if (isBounded)
        {
            Fill(id, new Slot { IsReady = true, HasItem = true, Item = item });
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
            else
            {
                PutNeedsLock(id, new Slot { IsReady = true, HasItem = true, Item = item });
            }
        }
        finally
        {
            _stateLock.Exit(key);
            after.Run();
        }
    }

    /// <summary>The message has these results, or none.</summary>
    public void Add(long id, List<T>? items) => Fill(id, new Slot { IsReady = true, Items = items });

    private void Fill(long id, Slot slot)
    {
        AfterLocks after = default;
        LockOwner? key = _stateLock.Enter();
        try
        {
            PutNeedsLock(id, slot);
            if (_emitting)
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

        while (TryTakeReady(out Slot ready))
        {
            Emit(ready);
        }
    }

    /// <summary>Takes the next result, if it is there. Otherwise the caller stops emitting.</summary>
    private bool TryTakeReady(out Slot ready)
    {
        LockOwner? key = _stateLock.Enter();
        ref Slot head = ref _slots[_next & (_slots.Length - 1)];
        ready = head;
        if (ready.IsReady)
        {
            head = default;
            _next++;
        }
        else
        {
            _emitting = false;
        }

        _stateLock.Exit(key);
        return ready.IsReady;
    }

    private void PutNeedsLock(long id, in Slot slot)
    {
        while (id - _next >= _slots.Length)
        {
            Grow();
        }

        _slots[id & (_slots.Length - 1)] = slot;
    }

    private void EmitNeedsLock(ref AfterLocks after)
    {
        while (true)
        {
            ref Slot head = ref _slots[_next & (_slots.Length - 1)];
            if (!head.IsReady)
            {
                return;
            }

            if (head.HasItem)
            {
                after.Reserve();
                after.Add(source.AddInTurn(head.Item!));
            }
            else if (head.Items is { } items)
            {
                source.AddInTurn(CollectionsMarshal.AsSpan(items), ref after);
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
        public bool IsReady;
        public bool HasItem;
        public T? Item;
        public List<T>? Items;
    }
}
