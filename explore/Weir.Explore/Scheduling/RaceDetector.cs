using System.Runtime.InteropServices;

namespace Weir.Explore.Scheduling;

/// <summary>
/// What happened before what in a schedule, by vector clocks, and the plain accesses that it had. Two accesses of a place, of which one is a write, are a race
/// if neither happened before the other, whether or not they came one right after the other.
/// </summary>
/// <remarks>
/// Places are known by their address. After a garbage collection, which may have moved them, all accesses before it are forgotten: a race may be overlooked,
/// and none is made up, because the order that the forgotten places gave is that of forgotten accesses.
/// </remarks>
internal sealed class RaceDetector(Execution execution)
{
    private readonly Dictionary<nint, Place> _places = [];
    private readonly Dictionary<nint, VectorClock> _volatile = [];
    private readonly Dictionary<object, VectorClock> _objects = new(ReferenceEqualityComparer.Instance);

    /// <summary>That of all calls of the platform which have none of their own.</summary>
    private readonly VectorClock _platform = new();
    private int _collections = GC.CollectionCount(0);
    private Place _none;

    /// <summary>What this thread did comes before whatever joins the clock that is returned.</summary>
    public VectorClock Fork(ControlledThread me)
    {
        VectorClock clock = new();
        Release(me, clock);
        return clock;
    }

    /// <summary>What this thread has done comes before what joins the clock.</summary>
    public void Release(ControlledThread me, VectorClock clock)
    {
        clock.Join(me.Clock);
        me.Clock.Increment(me.Id);
    }

    public void Acquire(ControlledThread me, object key) => me.Clock.Join(_objects.GetValueOrDefault(key, _platform));

    public void Release(ControlledThread me, object key) => Release(me, Of(_objects, key));

    /// <summary>Two operations that do this to one object are in order.</summary>
    public void Order(ControlledThread me, object key)
    {
        VectorClock clock = Of(_objects, key);
        me.Clock.Join(clock);
        Release(me, clock);
    }

    public void OrderPlatform(ControlledThread me)
    {
        me.Clock.Join(_platform);
        Release(me, _platform);
    }

    public void AcquireAt<T>(ControlledThread me, ref T place)
    {
        if (_volatile.TryGetValue(AddressOf(ref place), out VectorClock? clock))
        {
            me.Clock.Join(clock);
        }
    }

    public void ReleaseAt<T>(ControlledThread me, ref T place) => Release(me, Of(_volatile, AddressOf(ref place)));

    public void Read<T>(ControlledThread me, ref T at, string site)
    {
        Access access = new(me, site, execution.Trace.Count);
        ref Place place = ref PlaceOf(ref at, access);
        if (place.Read.By == me || place.Read.IsBefore(me))
        {
            place.Read = access;
        }
        else
        {
            place.Reads ??= [];
            place.Reads.RemoveAll(r => r.By == me || r.IsBefore(me));
            place.Reads.Add(access);
        }
    }

    public void Write<T>(ControlledThread me, ref T at, string site)
    {
        Access access = new(me, site, execution.Trace.Count);
        ref Place place = ref PlaceOf(ref at, access);
        Require(place.Read, access);
        place.Reads?.ForEach(r => Require(r, access));
        place = new Place { Write = access };
    }

    /// <summary>What is known of a place that is accessed, after its last write. Nothing if no other thread sees it.</summary>
    private ref Place PlaceOf<T>(ref T at, Access access)
    {
        nint address = AddressOf(ref at);
        if (access.By.IsOnStack(address))
        {
            _none = default;
            return ref _none;
        }

        ref Place place = ref CollectionsMarshal.GetValueRefOrAddDefault(_places, address, out _);
        Require(place.Write, access);
        return ref place;
    }

    private static VectorClock Of<TKey>(Dictionary<TKey, VectorClock> clocks, TKey key)
        where TKey : notnull => CollectionsMarshal.GetValueRefOrAddDefault(clocks, key, out _) ??= new VectorClock();

    private void Require(Access first, Access second)
    {
        if (!first.IsBefore(second.By))
        {
            execution.Trace.Add(second.Line);
            execution.Trace.Insert(first.Step, first.Line);
            execution.Fail(
                FailureKind.DataRace,
                $"A data race: nothing orders {first.By}, {first.Site}, and {second.By}, {second.Site}.",
                null);
        }
    }

    private unsafe nint AddressOf<T>(ref T place)
    {
        while (true)
        {
            nint address = (nint)Unsafe.AsPointer(ref place);
            int collections = GC.CollectionCount(0);
            if (collections == _collections)
            {
                return address;
            }

            _collections = collections;
            _places.Clear();
            _volatile.Clear();
        }
    }

    private readonly record struct Access(ControlledThread By, string Site, int Step)
    {
        private readonly int _time = By.Clock[By.Id];

        public TraceLine Line => new(By.Id, By.Name, $"{Site}, in a race");

        public bool IsBefore(ControlledThread thread) => By is null || By == thread || thread.Clock[By.Id] >= _time;
    }

    private struct Place
    {
        public Access Write;

        /// <summary>A read after it; most places have readers in order, and so one is enough.</summary>
        public Access Read;

        /// <summary>Reads that have no order among them.</summary>
        public List<Access>? Reads;
    }
}

/// <summary>For each thread, by its number, up to which of its times all that it did comes before.</summary>
internal sealed class VectorClock
{
    private int[] _times = [];

    public int this[int id] => id < _times.Length ? _times[id] : 0;

    public void Join(VectorClock other)
    {
        int[] times = other._times;
        Array.Resize(ref _times, Math.Max(_times.Length, times.Length));
        for (int i = 0; i < times.Length; i++)
        {
            _times[i] = Math.Max(_times[i], times[i]);
        }
    }

    public void Increment(int id)
    {
        Array.Resize(ref _times, Math.Max(_times.Length, id + 1));
        _times[id]++;
    }
}
