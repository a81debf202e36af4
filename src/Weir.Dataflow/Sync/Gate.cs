using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Dataflow.Sync;

/// <summary>
/// The lock around a block's own state. It is held for some instructions at a time and never while anything of the user's runs, so it neither
/// blocks nor nests into itself.
/// </summary>
/// <remarks>
/// As long as one thread alone uses it, it costs that thread plain loads and stores (see <see cref="ProcessBarrier"/>): the thread is its owner. The
/// first other thread takes that away with a process-wide barrier; from then on it is a spin lock, until one thread has been alone with it for
/// long enough to own it again.
/// </remarks>
internal struct Gate
{
    private const int MaxOwners = 6;

    private GateOwner? _owner;

    /// <summary>The spin lock, for everybody who does not own the gate.</summary>
    private int _taken;

    /// <summary>The last thread that came in by the spin lock, and how often in a row.</summary>
    private int _last;
    private int _streak;
    private int _owners;

    /// <summary>Enters. The result has to be given to <see cref="Exit"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public GateOwner? Enter()
    {
        GateOwner? owner = _owner;
        if (owner is not null && owner.Thread == Environment.CurrentManagedThreadId)
        {
            Debug.Assert(owner.Inside == 0, "The gate does not nest.");
            Volatile.Write(ref owner.Inside, 1);
            ProcessBarrier.Light();
            if (Volatile.Read(ref _owner) == owner)
            {
                return owner;
            }

            Volatile.Write(ref owner.Inside, 0);
        }

        return EnterSlow();
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Exit(GateOwner? owner)
    {
        if (owner is not null)
        {
            Volatile.Write(ref owner.Inside, 0);
        }
        else
        {
            Volatile.Write(ref _taken, 0);
        }
    }

    private GateOwner? EnterSlow()
    {
        if (Interlocked.CompareExchange(ref _taken, 1, 0) != 0)
        {
            Spin();
        }

        if (_owner is not null)
        {
            Revoke(_owner);
        }

        int me = Environment.CurrentManagedThreadId;
        if (_last != me)
        {
            bool first = _last == 0;
            _last = me;
            _streak = 0;
            return first ? Own(me) : null;
        }

        return ++_streak >= 64 << _owners && _owners < MaxOwners ? Own(me) : null;
    }

    /// <summary>From the spin lock to ownership, in an order that lets nobody in between.</summary>
    private GateOwner? Own(int me)
    {
        _owners++;
        _streak = 0;
        if (!ProcessBarrier.IsAvailable)
        {
            return null;
        }

        GateOwner owner = new(me) { Inside = 1 };
        Volatile.Write(ref _owner, owner);
        Volatile.Write(ref _taken, 0);
        return owner;
    }

    private void Revoke(GateOwner owner)
    {
        Volatile.Write(ref _owner, null);
        ProcessBarrier.Heavy();
        SpinWait spin = default;
        while (Volatile.Read(ref owner.Inside) != 0)
        {
            spin.SpinOnce(sleep1Threshold: -1);
        }
    }

    private void Spin()
    {
        SpinWait spin = default;
        do
        {
            spin.SpinOnce(sleep1Threshold: -1);
        }
        while (Volatile.Read(ref _taken) != 0 || Interlocked.CompareExchange(ref _taken, 1, 0) != 0);
    }
}
