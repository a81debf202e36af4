using System.Numerics;

namespace Weir.Explore.Scheduling;

/// <summary>
/// What each thread of a schedule has done and seen, as one number: its past. It depends on the order of operations that conflict, and on no other. So two
/// schedules in which all threads have the same pasts are in the same state, and go on in the same ways.
/// </summary>
/// <remarks>
/// A place has the past of its last writer, which comes into the past of whoever reads or writes it next. Places are known by their address, in steps of eight
/// bytes; what was known of them is lost with a garbage collection, which may have moved them. Values without references are read as what they are.
/// </remarks>
internal sealed class Conflicts
{
    private const ulong Begins = 1;
    private const ulong Fires = 2;
    private const ulong Yields = 3;
    private const ulong CanRun = 4;
    private const int Granule = 3;

    // Further steps of one thread in a row come near to those after which the others go first.
    private const int ManySteps = 100;

    private readonly Dictionary<nint, ulong> _places = [];
    private readonly Dictionary<object, ulong> _objects = new(ReferenceEqualityComparer.Instance);
    private readonly Dictionary<Task, ulong> _endings = [];

    /// <summary>The last call that could have changed anything but plain fields.</summary>
    private ulong _unknown;

    /// <summary>All changes of objects of the platform and through references, in any order.</summary>
    private ulong _changes;
    private ulong _ended;
    private bool _hasAliases;
    private int _collections;

    /// <summary>Whether something is no longer known. No state is taken for the same as another then.</summary>
    public bool IsLost { get; private set; }

    public void Clear()
    {
        _places.Clear();
        _objects.Clear();
        _endings.Clear();
        (_unknown, _changes, _ended, _hasAliases, IsLost) = (0, 0, 0, false, false);
        _collections = GC.CollectionCount(0);
    }

    public void Lose() => IsLost = true;

    /// <summary>Something that the thread has done or learnt by itself.</summary>
    public static void Value(ControlledThread me, ulong value) => me.Past = Mix(me.Past, value);

    /// <summary>What is learnt of something that holds or does not. Not 0, which is what a place has that nobody has written.</summary>
    public static ulong Number(bool value) => value ? 1UL : 2UL;

    public void Site(ControlledThread me) => Value(me, (ulong)RuntimeHelpers.GetHashCode(me.Site));

    public void Begin(ControlledThread? by, ControlledThread thread, object? timer)
    {
        if (timer is null && by is not null)
        {
            Value(by, Begins);
        }

        thread.Past = thread.Identity =
            timer is not null ? (_objects[timer] = Mix(Mix(_objects.GetValueOrDefault(timer), Fires), (ulong)thread.Execution.Ticks))
            : by is null ? Mix(Begins, (ulong)thread.Id)
            : Mix(by.Past, Begins);
    }

    public void End(ControlledThread thread)
    {
        Use(thread, thread);
        _ended += Spread(Mix(thread.Identity, thread.Past));
    }

    /// <summary>A plain or volatile read. Through a reference, others may have changed it in a call of the platform.</summary>
    public void Read<T>(ControlledThread me, ref T place, bool isThrough)
    {
        if (!RuntimeHelpers.IsReferenceOrContainsReferences<T>() && Unsafe.SizeOf<T>() <= sizeof(ulong))
        {
            T value = place;
            ulong bits = 0;
            Unsafe.As<ulong, T>(ref bits) = value;
            Value(me, bits);
            return;
        }

        if (!typeof(T).IsValueType && place is null)
        {
            Value(me, 0);
            return;
        }

        nint address = AddressOf(ref place);
        if (me.IsOnStack(address))
        {
            return;
        }

        nint last = (address + Unsafe.SizeOf<T>() - 1) >> Granule;
        for (nint granule = address >> Granule; granule <= last; granule++)
        {
            Value(me, _places.GetValueOrDefault(granule));
        }

        if (isThrough)
        {
            Value(me, _unknown);
        }
    }

    public void Write<T>(ControlledThread me, ref T place, bool isThrough)
    {
        nint address = AddressOf(ref place);
        if (me.IsOnStack(address))
        {
            return;
        }

        nint last = (address + Unsafe.SizeOf<T>() - 1) >> Granule;
        for (nint granule = address >> Granule; granule <= last; granule++)
        {
            ref ulong of = ref System.Runtime.InteropServices.CollectionsMarshal.GetValueRefOrAddDefault(_places, granule, out _);
            of = me.Past = Mix(me.Past, of);
        }

        if (isThrough)
        {
            Value(me, _unknown);
            Changed(me);
        }
    }

    /// <summary>An operation of a thread that may change the object, if there are both, and nothing else.</summary>
    public void Use(ControlledThread? me, object? used)
    {
        if (me is not null && used is not null)
        {
            LookAt(me, used);
            _objects[used] = me.Past;
            Changed(me);
        }
    }

    /// <summary>An operation that reads the object, if there is one, and nothing else. Of a task, that is whether it has ended.</summary>
    public void Look(ControlledThread me, object? at)
    {
        if (at is Task task)
        {
            OfTask(me, task);
        }
        else if (at is not null)
        {
            LookAt(me, at);
        }
    }

    /// <summary>The thread ends a task, or, if another one did so before, sees that.</summary>
    public void EndTask(ControlledThread me, Task task)
    {
        Use(me, task);
        _endings[task] = me.Past;
    }

    /// <summary>Whether a task has ended, and how. One that the platform has ended by itself depends on all that was done.</summary>
    private void OfTask(ControlledThread me, Task task)
    {
        if (!task.IsCompleted)
        {
            Value(me, 0);
        }
        else if (_endings.TryGetValue(task, out ulong by))
        {
            me.Past = Mix(me.Past, by);
        }
        else
        {
            All(me);
        }
    }

    /// <summary>A call of the platform that may read and change all that is not a plain field.</summary>
    public void Unknown(ControlledThread me)
    {
        Enumerate(me);
        _unknown = me.Past;
        Changed(me);
    }

    /// <summary>One that reads objects of the platform, and changes none that others see.</summary>
    public void Enumerate(ControlledThread me) => me.Past = Mix(Mix(me.Past, _unknown), _changes);

    /// <summary>One that may read anything.</summary>
    public void All(ControlledThread me) => Value(me, me.Execution.Pasts(this));

    /// <summary>From now on, references lead into objects of the platform.</summary>
    public void Alias(ControlledThread me)
    {
        Unknown(me);
        _hasAliases = true;
    }

    public ulong Pasts(List<ControlledThread> threads, bool withIds)
    {
        ulong sum = _ended;
        foreach (ControlledThread thread in threads)
        {
            sum += Spread(Mix(Mix(thread.Identity, thread.Past), withIds ? (ulong)thread.Id : 0));
            foreach (ControlledThread first in thread.YieldsTo)
            {
                sum += Spread(Mix(Mix(thread.Identity, Yields), first.Identity));
            }
        }

        return sum;
    }

    /// <summary>The state in which a choice is made: who runs, who can, and what all have done.</summary>
    public static ulong State(ulong pasts, List<ControlledThread> runnable, ControlledThread? me, long now, int stepsInARow)
    {
        foreach (ControlledThread thread in runnable)
        {
            pasts += Spread(Mix(thread.Identity, CanRun));
        }

        return Mix(Mix(Mix(pasts, me?.Identity ?? 0), (ulong)now), me is not null && stepsInARow > ManySteps ? (ulong)stepsInARow : 0);
    }

    private void LookAt(ControlledThread me, object at)
    {
        me.Past = Mix(Mix(me.Past, _objects.GetValueOrDefault(at)), _unknown);
        if (_hasAliases)
        {
            Value(me, _changes);
        }
    }

    private void Changed(ControlledThread me) => _changes += Spread(me.Past);

    private static ulong Mix(ulong past, ulong next) =>
        BitOperations.RotateLeft((past ^ (next * 0x9E3779B97F4A7C15)) * 0xBF58476D1CE4E5B9, 29) + 0x94D049BB133111EB;

    private static ulong Spread(ulong value)
    {
        value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD;
        value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53;
        return value ^ (value >> 33);
    }

    private unsafe nint AddressOf<T>(ref T place)
    {
        nint address = (nint)Unsafe.AsPointer(ref place);
        if (_collections != GC.CollectionCount(0))
        {
            IsLost = true;
        }

        return address;
    }
}

/// <summary>
/// The states in which a search has made its choices. Schedules come in the order of their preemptions, so one that comes to a state again has no more
/// preemptions left there than the first one had: what follows was, or will be, searched from there.
/// </summary>
internal sealed class SeenStates
{
    private readonly HashSet<ulong> _seen = [];
    private readonly List<ulong> _new = [];
    private int _from;

    public Conflicts Conflicts { get; } = new();

    /// <summary>Whether threads are told apart by their numbers, because the program has asked for one.</summary>
    public bool IdsMatter { get; private set; }

    /// <summary>Before a schedule whose choices before <paramref name="from"/> are those of another one.</summary>
    public void Begin(int from)
    {
        _from = from;
        _new.Clear();
        Conflicts.Clear();
    }

    /// <summary>False if nothing that follows this choice is new.</summary>
    public bool IsNew(int choice, ulong state)
    {
        if (choice < _from || Conflicts.IsLost)
        {
            return true;
        }

        _new.Add(state);
        return !_seen.Contains(state);
    }

    /// <summary>The schedule counts: it is not run again because something was lost.</summary>
    public void Keep() => _seen.UnionWith(_new);

    /// <summary>What was taken for the same may not be: the search has to begin again.</summary>
    public void TellIdsApart()
    {
        IdsMatter = true;
        _seen.Clear();
    }
}
