using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>
/// Puts results that are ready in any order back into the order of their messages. As many results wait here as there are calls ahead of the
/// slowest one, so the block's capacity bounds them.
/// </summary>
internal sealed class OrderedOutput<T>(SourceCore<T> source, bool isBounded)
{
    private const int FirstLength = 16;

    private Gate _gate;
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

        GateOwner? key = _gate.Enter();
        IAfterLock? after = null;
        if (id == _next)
        {
            after = source.AddInTurn(item);
            _next++;
            if (_slots[_next & (_slots.Length - 1)].IsReady)
            {
                after = AfterBoth.Of(after, EmitNeedsLock());
            }
        }
        else
        {
            PutNeedsLock(id, new Slot { IsReady = true, HasItem = true, Item = item });
        }

        _gate.Exit(key);
        after?.AfterLock();
    }

    /// <summary>The message has these results, or none.</summary>
    public void Add(long id, IReadOnlyList<T>? items) => Fill(id, new Slot { IsReady = true, Items = items });

    private void Fill(long id, Slot slot)
    {
        GateOwner? key = _gate.Enter();
        PutNeedsLock(id, slot);
        if (_emitting)
        {
            _gate.Exit(key);
            return;
        }

        if (!isBounded)
        {
            // Nothing of the user's is called, and leaving the gate for each result would cost more than the result does.
            IAfterLock? after = EmitNeedsLock();
            _gate.Exit(key);
            after?.AfterLock();
            return;
        }

        _emitting = true;
        while (true)
        {
            ref Slot head = ref _slots[_next & (_slots.Length - 1)];
            if (!head.IsReady)
            {
                _emitting = false;
                _gate.Exit(key);
                return;
            }

            Slot ready = head;
            head = default;
            _next++;
            _gate.Exit(key);
            Emit(ready);
            key = _gate.Enter();
        }
    }

    private void PutNeedsLock(long id, in Slot slot)
    {
        while (id - _next >= _slots.Length)
        {
            Grow();
        }

        _slots[id & (_slots.Length - 1)] = slot;
    }

    private IAfterLock? EmitNeedsLock()
    {
        IAfterLock? after = null;
        while (true)
        {
            ref Slot head = ref _slots[_next & (_slots.Length - 1)];
            if (!head.IsReady)
            {
                return after;
            }

            if (head.HasItem)
            {
                after = AfterBoth.Of(after, source.AddInTurn(head.Item!));
            }
            else if (head.Items is { } items)
            {
                for (int i = 0; i < items.Count; i++)
                {
                    after = AfterBoth.Of(after, source.AddInTurn(items[i]));
                }
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
            for (int i = 0; i < items.Count; i++)
            {
                source.AddInTurn(items[i])?.AfterLock();
            }
        }
    }

    private void Grow()
    {
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
        public IReadOnlyList<T>? Items;
    }
}
