using System.Runtime.InteropServices;

namespace Weir.Explore.Model;

/// <summary>A lock that a thread may take several times, with those who wait for a pulse.</summary>
internal sealed class LockState(string name)
{
    private readonly List<ControlledThread> _waiting = [];
    private readonly VectorClock _clock = new();
    private ControlledThread? _owner;
    private int _count;
    private int _ownedAt;

    public bool IsMine => _owner is not null && _owner == ControlledThread.Current;

    private string Held => $"{name}, which {_owner} holds";

    public void Enter() => _ = TryEnter(Timeout.InfiniteTimeSpan);

    public bool TryEnter(TimeSpan timeout)
    {
        ControlledThread me = Points.Me;
        Statics.TriesLocks |= timeout >= TimeSpan.Zero;
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

        if (_count == 1 && me.Execution.LocksAreTried && me.Execution.Steps == _ownedAt)
        {
            // There was no point since it was entered, at which others could have found it held.
            me.Step(orders: false);
        }

        if (--_count == 0)
        {
            me.Execution.Stores?.Flush(me);
            Disown(me);
        }
    }

    public bool Wait(TimeSpan timeout)
    {
        ControlledThread me = Mine();
        Effects.Write(this);
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
            Effects.Write(this);
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
        Effects.Write(this);
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
        _ownedAt = me.Execution.Steps;
        me.Clock.Join(_clock);
    }

    private void Disown(ControlledThread me)
    {
        _owner = null;
        me.Execution.Races?.Release(me, _clock);
    }
}

[Replaces("System.Threading.Lock")]
internal sealed class Lock
{
    private readonly LockState _state = new("a Lock");

    public bool IsHeldByCurrentThread => _state.IsMine;
    public void Enter() => _state.Enter();

    public Scope EnterScope()
    {
        _state.Enter();
        return new Scope(this);
    }

    public void Exit() => _state.Exit();
    public bool TryEnter() => TryEnter(TimeSpan.Zero);
    public bool TryEnter(int millisecondsTimeout) => TryEnter(TimeSpan.FromMilliseconds(millisecondsTimeout));
    public bool TryEnter(TimeSpan timeout) => _state.TryEnter(timeout);

    public ref struct Scope(Lock taken)
    {
        private Lock? _taken = taken;

        public void Dispose()
        {
            _taken?.Exit();
            _taken = null;
        }
    }
}

[Replaces("System.Threading.Monitor")]
internal static class Monitors
{
    // Of a schedule: what is locked may live longer, as a type or a text does.
    private static readonly ConditionalWeakTable<Execution, Dictionary<object, LockState>> States = [];

    public static void Enter(object obj) => Of(obj).Enter();

    public static void Enter(object obj, ref bool lockTaken)
    {
        Of(obj).Enter();
        lockTaken = true;
    }

    public static void Exit(object obj) => Of(obj).Exit();
    public static bool IsEntered(object obj) => Of(obj).IsMine;
    public static bool TryEnter(object obj) => TryEnter(obj, TimeSpan.Zero);
    public static void TryEnter(object obj, ref bool lockTaken) => lockTaken = TryEnter(obj, TimeSpan.Zero);
    public static bool TryEnter(object obj, int millisecondsTimeout) => TryEnter(obj, TimeSpan.FromMilliseconds(millisecondsTimeout));
    public static bool TryEnter(object obj, TimeSpan timeout) => Of(obj).TryEnter(timeout);
    public static void TryEnter(object obj, int millisecondsTimeout, ref bool lockTaken) => lockTaken = TryEnter(obj, millisecondsTimeout);
    public static void TryEnter(object obj, TimeSpan timeout, ref bool lockTaken) => lockTaken = TryEnter(obj, timeout);
    public static bool Wait(object obj) => Wait(obj, Timeout.InfiniteTimeSpan);
    public static bool Wait(object obj, int millisecondsTimeout) => Wait(obj, TimeSpan.FromMilliseconds(millisecondsTimeout));
    public static bool Wait(object obj, TimeSpan timeout) => Of(obj).Wait(timeout);
    public static void Pulse(object obj) => Of(obj).Pulse(all: false);
    public static void PulseAll(object obj) => Of(obj).Pulse(all: true);

    internal static LockState Of(object obj)
    {
        Dictionary<object, LockState> states = States.GetValue(Points.Me.Execution, static _ => new(ReferenceEqualityComparer.Instance));
        return CollectionsMarshal.GetValueRefOrAddDefault(states, obj, out _) ??= new LockState(obj.GetType().Name);
    }
}

#pragma warning disable IDE1006, SA1300 // The name of the property's method.
[Replaces("System.Lazy`1")]
internal static class Lazies
{
    /// <summary>Who comes while another thread makes the value waits, as on the platform: here for a lock that the explorer knows.</summary>
    public static T get_Value<T>(Lazy<T> lazy)
    {
        ControlledThread.Current?.StepOn(lazy);
        Effects.Acquire(lazy);
        LockState? making = ControlledThread.Current is not null && Mode<T>.Of(lazy) == LazyThreadSafetyMode.ExecutionAndPublication ? Monitors.Of(lazy) : null;
        making?.Enter();
        try
        {
            return lazy.Value;
        }
        finally
        {
            Effects.AcquireRelease(lazy);
            making?.Exit();
        }
    }

    private static class Mode<T>
    {
        [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "get_Mode")]
        public static extern LazyThreadSafetyMode? Of(Lazy<T> lazy);
    }
}
