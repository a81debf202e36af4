namespace Weir.Explore.Model;

/// <summary>A lock that a thread may take several times, with those who wait for a pulse.</summary>
internal sealed class LockState
{
    private readonly List<ControlledThread> _waiting = [];
    private ControlledThread? _owner;
    private int _count;

    public bool IsMine => _owner is not null && _owner == ControlledThread.Current;

    public void Enter(string what)
    {
        ControlledThread me = Points.Me;
        me.Step();
        Take(me, what);
    }

    public bool TryEnter(string what, TimeSpan timeout)
    {
        ControlledThread me = Points.Me;
        me.Step();
        if (_owner != me && _owner is not null && !me.Block(Name(what), () => _owner is null, timeout))
        {
            return false;
        }

        _owner = me;
        _count++;
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
            _owner = null;
        }
    }

    public bool Wait(string what, TimeSpan timeout)
    {
        ControlledThread me = Mine();
        int count = _count;
        (_owner, _count) = (null, 0);
        _waiting.Add(me);
        bool isPulsed;
        try
        {
            isPulsed = me.Block($"a pulse of {what}", () => !_waiting.Contains(me), timeout < TimeSpan.Zero ? null : timeout);
        }
        finally
        {
            _waiting.Remove(me);
            if (_owner is not null)
            {
                me.Block(Name(what), () => _owner is null, isInterruptible: false);
            }

            (_owner, _count) = (me, count);
        }

        return isPulsed;
    }

    public void Pulse(bool all)
    {
        Mine().Step();
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

    private void Take(ControlledThread me, string what)
    {
        if (_owner != me && _owner is not null)
        {
            me.Block(Name(what), () => _owner is null);
        }

        _owner = me;
        _count++;
    }

    private string Name(string what) => $"{what}, which {_owner} holds";
}
