namespace Weir.Explore.Model;

/// <summary>A lock that a thread may take several times, with those who wait for a pulse.</summary>
internal sealed class LockState(string name)
{
    private readonly List<ControlledThread> _waiting = [];
    private readonly VectorClock _clock = new();
    private ControlledThread? _owner;
    private int _count;

    public bool IsMine => _owner is not null && _owner == ControlledThread.Current;

    private string Held => $"{name}, which {_owner} holds";

    public void Enter() => _ = TryEnter(Timeout.InfiniteTimeSpan);

    public bool TryEnter(TimeSpan timeout)
    {
        ControlledThread me = Points.Me;
        me.Step(orders: false);
        if (_owner != me && _owner is not null && !me.Block(Held, () => _owner is null, timeout, orders: false))
        {
            return false;
        }

        Own(me, 1);
        return true;
    }

    public void Exit()
    {
        ControlledThread me = Points.Me;
        if (_owner != me)
        {
            me.Execution.ThrowIfStopping(me);
            throw new SynchronizationLockException();
        }

        if (--_count == 0)
        {
            me.Execution.Stores?.ShowAll();
            Disown(me);
        }
    }

    public bool Wait(TimeSpan timeout)
    {
        ControlledThread me = Mine();
        Order.Change(this);
        int count = _count;
        _count = 0;
        Disown(me);
        _waiting.Add(me);
        bool isPulsed;
        try
        {
            isPulsed = me.Block($"a pulse of {name}", () => !_waiting.Contains(me), timeout, orders: false);
        }
        finally
        {
            Order.Change(this);
            _waiting.Remove(me);
            if (_owner is not null)
            {
                me.Block(Held, () => _owner is null, isInterruptible: false, orders: false);
            }

            Own(me, count);
        }

        return isPulsed;
    }

    public void Pulse(bool all)
    {
        Mine().Step(orders: false);
        Order.Change(this);
        if (_waiting.Count > 0)
        {
            _waiting.RemoveRange(0, all ? _waiting.Count : 1);
        }
    }

    private ControlledThread Mine()
    {
        ControlledThread me = Points.Me;
        return _owner == me ? me : throw new SynchronizationLockException();
    }

    private void Own(ControlledThread me, int times)
    {
        _owner = me;
        _count += times;
        me.Clock.Join(_clock);
    }

    private void Disown(ControlledThread me)
    {
        _owner = null;
        me.Execution.Races?.Release(me, _clock);
    }
}
