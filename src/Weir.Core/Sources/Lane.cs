using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>The items of one key that are out and waiting. Entering it, and leaving it while items wait, needs the lock of all lanes.</summary>
internal sealed class Lane<T>
{
    // The number of items that are out, and a bit for whether some wait. The count can fall without the lock while the bit is not set; all other changes are
    // made under the lock.
    private const int SomeWait = 1 << 30;

    private int _state;
    private Queue<(T Item, long Index)>? _waiting;

    /// <summary>Whether the lane has no items. It stays so while the lock is held.</summary>
    public bool IsIdle => Volatile.Read(ref _state) == 0;

    public IEnumerable<long> Waiting => _waiting?.Select(static item => item.Index) ?? [];

    /// <summary>Lets an item out, or keeps it until another one has left.</summary>
    /// <returns>Whether it is out.</returns>
    public bool EnterOrWaitNeedsLock(int most, T item, long index)
    {
        int state = Volatile.Read(ref _state);
        if (state == 0)
        {
            // There is no item inside that could leave meanwhile.
            Volatile.Write(ref _state, 1);
            return true;
        }

        while (true)
        {
            bool enters = state < most;
            int seen = Interlocked.CompareExchange(ref _state, enters ? state + 1 : state | SomeWait, state);
            if (seen == state)
            {
                if (!enters)
                {
                    (_waiting ??= new()).Enqueue((item, index));
                }

                return enters;
            }

            state = seen;
        }
    }

    /// <summary>An item has ended, and none waits.</summary>
    /// <returns>False if some wait: then the lock is needed.</returns>
    public bool TryLeave()
    {
        int state = Volatile.Read(ref _state);
        while ((state & SomeWait) == 0)
        {
            int seen = Interlocked.CompareExchange(ref _state, state - 1, state);
            if (seen == state)
            {
                return true;
            }

            state = seen;
        }

        return false;
    }

    /// <summary>An item has ended: the next one takes its place, if one waits.</summary>
    /// <returns>Whether there is a next one.</returns>
    public bool LeaveOrNextNeedsLock([MaybeNullWhen(false)] out (T Item, long Index) next)
    {
        next = default;
        if (TryLeave())
        {
            return false;
        }

        next = _waiting!.Dequeue();
        if (_waiting.Count == 0)
        {
            Volatile.Write(ref _state, _state & ~SomeWait);
        }

        return true;
    }
}
