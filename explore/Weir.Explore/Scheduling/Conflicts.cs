using System.Numerics;

namespace Weir.Explore.Scheduling;

/// <summary>
/// Tells equal states of a schedule apart from different ones. What each thread has done and observed is one number, its past. It depends on the order of
/// operations that conflict (two on one object or location, of which one writes), and on no other order. So two schedules in which all threads have the same
/// pasts are in the same state, and have the same continuations.
/// </summary>
/// <remarks>
/// A location has the past of its last writer, which becomes a part of the past of whoever reads or writes it next. Locations are known by their address, in
/// steps of eight bytes; what was known of them is lost with a garbage collection, which may have moved them. Values without references are observed as what
/// they are.
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

    private readonly Dictionary<nint, ulong> _locations = [];
    private readonly Dictionary<object, ulong> _objects = new(ReferenceEqualityComparer.Instance);
    private readonly Dictionary<Task, ulong> _endings = [];

    /// <summary>The past of the last call that may have changed anything but plain fields.</summary>
    private ulong _platform;

    /// <summary>All changes of objects of the platform and through references, in any order.</summary>
    private ulong _changes;
    private ulong _ended;
    private bool _hasAliases;
    private int _collections;

    /// <summary>Whether something is no longer known. No state is taken for the same as another then.</summary>
    public bool IsLost { get; private set; }

    public void Clear()
    {
        _locations.Clear();
        _objects.Clear();
        _endings.Clear();
        (_platform, _changes, _ended, _hasAliases, IsLost) = (0, 0, 0, false, false);
        _collections = GC.CollectionCount(0);
    }

    public void LoseTrack() => IsLost = true;

    /// <summary>The pasts of all threads of the schedule, for what may read anything.</summary>
    public Func<ulong>? PastsOfAll { get; set; }

    /// <summary>The thread has done something by itself, or observed a value.</summary>
    public static void Observe(TrackedThread me, ulong value) => me.Past = Mix(me.Past, value);

    /// <summary>What a thread observes of something that holds or does not. Not 0, which is what a location has that nobody has written.</summary>
    public static ulong BitsOf(bool value) => value ? 1UL : 2UL;
    public void ObserveSite(TrackedThread me) => Observe(me, (ulong)RuntimeHelpers.GetHashCode(me.Site));

    public void BeginThread(TrackedThread? by, TrackedThread thread, object? timer, long now)
    {
        if (timer is null && by is not null)
        {
            Observe(by, Begins);
        }

        thread.Past = thread.Identity =
            timer is not null ? (_objects[timer] = Mix(Mix(_objects.GetValueOrDefault(timer), Fires), (ulong)now))
            : by is null ? Mix(Begins, (ulong)thread.Id)
            : Mix(by.Past, Begins);
    }

    public void EndThread(TrackedThread thread)
    {
        WriteObject(thread, thread);
        _ended += Spread(Mix(thread.Identity, thread.Past));
    }

    /// <summary>A plain or volatile read. Through a reference, others may have changed it in a call of the platform.</summary>
    public void Read<T>(TrackedThread me, ref T location, bool isThrough)
    {
        if (!RuntimeHelpers.IsReferenceOrContainsReferences<T>() && Unsafe.SizeOf<T>() <= sizeof(ulong))
        {
            T value = location;
            ulong bits = 0;
            Unsafe.As<ulong, T>(ref bits) = value;
            Observe(me, bits);
            return;
        }

        if (!typeof(T).IsValueType && location is null)
        {
            Observe(me, 0);
            return;
        }

        nint address = AddressOf(ref location);
        if (me.IsOnStack(ref location))
        {
            return;
        }

        nint last = (address + Unsafe.SizeOf<T>() - 1) >> Granule;
        for (nint granule = address >> Granule; granule <= last; granule++)
        {
            Observe(me, _locations.GetValueOrDefault(granule));
        }

        if (isThrough)
        {
            Observe(me, _platform);
        }
    }

    public void Write<T>(TrackedThread me, ref T location, bool isThrough)
    {
        nint address = AddressOf(ref location);
        if (me.IsOnStack(ref location))
        {
            return;
        }

        nint last = (address + Unsafe.SizeOf<T>() - 1) >> Granule;
        for (nint granule = address >> Granule; granule <= last; granule++)
        {
            ref ulong of = ref System.Runtime.InteropServices.CollectionsMarshal.GetValueRefOrAddDefault(_locations, granule, out _);
            of = me.Past = Mix(me.Past, of);
        }

        if (isThrough)
        {
            Observe(me, _platform);
            CountChange(me);
        }
    }

    /// <summary>An operation of a thread that may change the object, if there are both, and nothing else.</summary>
    public void WriteObject(TrackedThread? me, object? used)
    {
        if (me is not null && used is not null)
        {
            ReadState(me, used);
            _objects[used] = me.Past;
            CountChange(me);
        }
    }

    /// <summary>An operation that reads the object, if there is one, and nothing else. Of a task, that is whether it has ended.</summary>
    public void ReadObject(TrackedThread me, object? at)
    {
        if (at is Task task)
        {
            ReadTask(me, task);
        }
        else if (at is not null)
        {
            ReadState(me, at);
        }
    }

    /// <summary>The thread ends a task, or, if another one did so before, sees that.</summary>
    public void EndTask(TrackedThread me, Task task)
    {
        WriteObject(me, task);
        _endings[task] = me.Past;
    }

    /// <summary>Whether a task has ended, and how. One that the platform has ended by itself depends on all that was done.</summary>
    private void ReadTask(TrackedThread me, Task task)
    {
        if (!task.IsCompleted)
        {
            Observe(me, 0);
        }
        else if (_endings.TryGetValue(task, out ulong by))
        {
            me.Past = Mix(me.Past, by);
        }
        else
        {
            ReadEverything(me);
        }
    }

    /// <summary>A call of the platform that may read and change all that is no plain field.</summary>
    public void WritePlatform(TrackedThread me)
    {
        ReadPlatform(me);
        _platform = me.Past;
        CountChange(me);
    }

    /// <summary>A call that reads objects of the platform, and changes none that others see.</summary>
    public void ReadPlatform(TrackedThread me) => me.Past = Mix(Mix(me.Past, _platform), _changes);

    /// <summary>A call that may read anything.</summary>
    public void ReadEverything(TrackedThread me) => Observe(me, PastsOfAll!());

    /// <summary>From now on, references lead into objects of the platform.</summary>
    public void ExposeReferences(TrackedThread me)
    {
        WritePlatform(me);
        _hasAliases = true;
    }

    public ulong Pasts<TThread>(List<TThread> threads, bool withIds)
        where TThread : TrackedThread
    {
        ulong sum = _ended;
        foreach (TrackedThread thread in threads)
        {
            sum += Spread(Mix(Mix(thread.Identity, thread.Past), withIds ? (ulong)thread.Id : 0));
            foreach (TrackedThread first in thread.YieldsTo)
            {
                sum += Spread(Mix(Mix(thread.Identity, Yields), first.Identity));
            }
        }

        return sum;
    }

    /// <summary>The state in which a choice is made: who runs, who can, and what all have done.</summary>
    public static ulong State<TThread>(ulong pasts, List<TThread> runnable, TrackedThread? me, long now, int stepsInARow)
        where TThread : TrackedThread
    {
        foreach (TrackedThread thread in runnable)
        {
            pasts += Spread(Mix(thread.Identity, CanRun));
        }

        return Mix(Mix(Mix(pasts, me?.Identity ?? 0), (ulong)now), me is not null && stepsInARow > ManySteps ? (ulong)stepsInARow : 0);
    }

    private void ReadState(TrackedThread me, object at)
    {
        me.Past = Mix(Mix(me.Past, _objects.GetValueOrDefault(at)), _platform);
        if (_hasAliases)
        {
            Observe(me, _changes);
        }
    }

    private void CountChange(TrackedThread me) => _changes += Spread(me.Past);

    private static ulong Mix(ulong past, ulong next) =>
        BitOperations.RotateLeft((past ^ (next * 0x9E3779B97F4A7C15)) * 0xBF58476D1CE4E5B9, 29) + 0x94D049BB133111EB;

    private static ulong Spread(ulong value)
    {
        value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD;
        value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53;
        return value ^ (value >> 33);
    }

    private unsafe nint AddressOf<T>(ref T location)
    {
        nint address = (nint)Unsafe.AsPointer(ref location);
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
    public void AddNew() => _seen.UnionWith(_new);

    /// <summary>What was taken for the same may not be: the search has to begin again.</summary>
    public void TellIdsApart()
    {
        IdsMatter = true;
        _seen.Clear();
    }
}
