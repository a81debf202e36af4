using System.Reflection;
using System.Runtime.InteropServices;

namespace Weir.Explore.Scheduling;

/// <summary>
/// Finds data races: two accesses of a location, of which one is a write, neither of which happens before the other, whether or not they came one right after
/// the other. Vector clocks tell what happens before what: a release joins the thread's clock into that of an object, and an acquire joins the object's clock
/// into the thread's.
/// </summary>
/// <remarks>
/// Locations are known by their address. After a garbage collection, which may have moved them, all accesses before it are forgotten. So a race may be
/// overlooked, and none is made up, because the order that the forgotten locations gave is that of forgotten accesses.
/// </remarks>
/// <param name="trace">The steps of the schedule, to which a race adds its two accesses.</param>
/// <param name="report">Ends the schedule with a race; or does nothing, where races are counted.</param>
internal sealed class RaceDetector(List<TraceLine> trace, Action<string> report)
{
    private static readonly Func<object, nuint> SizeOf =
        typeof(RuntimeHelpers).GetMethod("GetRawObjectDataSize", BindingFlags.Static | BindingFlags.NonPublic)!.CreateDelegate<Func<object, nuint>>();

    private readonly Dictionary<nint, Accesses> _locations = [];
    private readonly Dictionary<nint, VectorClock> _volatile = [];
    private readonly Dictionary<object, VectorClock> _objects = new(ReferenceEqualityComparer.Instance);

    /// <summary>The clock that all calls of the platform share which have none of their own.</summary>
    private readonly VectorClock _platform = new();
    private int _collections = GC.CollectionCount(0);
    private Accesses _none;

    /// <summary>How many accesses without a point there were of locations that several threads access, one of which writes.</summary>
    public int Shared => _locations.Values.Where(static l => l is { IsShared: true, IsWritten: true }).Sum(static l => l.Count);

    /// <summary>How many accesses came in no order with an earlier one, where these end no schedule.</summary>
    public int Unordered { get; private set; }

    /// <summary>A clock; what this thread did happens before whatever joins it.</summary>
    public VectorClock Fork(TrackedThread me)
    {
        VectorClock clock = new();
        Release(me, clock);
        return clock;
    }

    /// <summary>What this thread has done happens before what joins the clock.</summary>
    public void Release(TrackedThread me, VectorClock clock)
    {
        clock.Join(me.Clock);
        me.Clock.Increment(me.Id);
    }

    public void Acquire(TrackedThread me, object key) => me.Clock.Join(_objects.GetValueOrDefault(key, _platform));
    public void Release(TrackedThread me, object key) => Release(me, ClockOf(_objects, key));

    /// <summary>Two operations that do this to one object are in order.</summary>
    public void AcquireRelease(TrackedThread me, object key)
    {
        VectorClock clock = ClockOf(_objects, key);
        me.Clock.Join(clock);
        Release(me, clock);
    }

    public void AcquireReleasePlatform(TrackedThread me)
    {
        me.Clock.Join(_platform);
        Release(me, _platform);
    }

    public void AcquireAt<T>(TrackedThread me, ref T location)
    {
        if (_volatile.TryGetValue(AddressOf(ref location), out VectorClock? clock))
        {
            me.Clock.Join(clock);
        }
    }

    public void ReleaseAt<T>(TrackedThread me, ref T location) => Release(me, ClockOf(_volatile, AddressOf(ref location)));

    public void Read<T>(TrackedThread me, ref T location, string site, bool isPoint)
    {
        Access access = new(me, site, trace.Count);
        ref Accesses known = ref AccessesOf(ref location, access, isPoint);
        if (known.Read.By == me || known.Read.HappensBefore(me))
        {
            known.Read = access;
        }
        else
        {
            known.Reads ??= [];
            known.Reads.RemoveAll(r => r.By == me || r.HappensBefore(me));
            known.Reads.Add(access);
        }
    }

    public void Write<T>(TrackedThread me, ref T location, string site, bool isPoint)
    {
        Access access = new(me, site, trace.Count);
        ref Accesses known = ref AccessesOf(ref location, access, isPoint);
        ReportUnlessOrdered(known.Read, access);
        known.Reads?.ForEach(r => ReportUnlessOrdered(r, access));
        known = known with { Write = access, Read = default, Reads = null, IsWritten = true };
    }

    /// <summary>An object of a pool has a new user. Whatever the pool is, it orders the two, and their program may not count on that: it is as a new object.</summary>
    public void Renew(object rented)
    {
        _objects.Remove(rented);
        nint first = AddressOf(ref Unsafe.As<StrongBox<byte>>(rented).Value);
        for (nint end = first + (nint)SizeOf(rented); first < end; first++)
        {
            _locations.Remove(first);
            _volatile.Remove(first);
        }
    }

    /// <summary>What is known of a location that is accessed, since its last write. Nothing if no other thread sees it.</summary>
    private ref Accesses AccessesOf<T>(ref T location, Access access, bool isPoint)
    {
        if (access.By.IsOnStack(ref location))
        {
            _none = default;
            return ref _none;
        }

        ref Accesses known = ref CollectionsMarshal.GetValueRefOrAddDefault(_locations, AddressOf(ref location), out _);
        ReportUnlessOrdered(known.Write, access);
        known.First ??= access.By;
        known.IsShared |= known.First != access.By;
        known.Count += isPoint ? 0 : 1;
        return ref known;
    }

    private static VectorClock ClockOf<TKey>(Dictionary<TKey, VectorClock> clocks, TKey key)
        where TKey : notnull => CollectionsMarshal.GetValueRefOrAddDefault(clocks, key, out _) ??= new VectorClock();

    private void ReportUnlessOrdered(Access first, Access second)
    {
        if (!first.HappensBefore(second.By))
        {
            Unordered++;
            trace.Add(second.Line);
            trace.Insert(first.Step, first.Line);
            report($"A data race: nothing orders {first.By}, {first.Site}, and {second.By}, {second.Site}.");
        }
    }

    private unsafe nint AddressOf<T>(ref T location)
    {
        while (true)
        {
            nint address = (nint)Unsafe.AsPointer(ref location);
            int collections = GC.CollectionCount(0);
            if (collections == _collections)
            {
                return address;
            }

            _collections = collections;
            _locations.Clear();
            _volatile.Clear();
        }
    }

    private readonly record struct Access(TrackedThread By, string Site, int Step)
    {
        private readonly int _time = By.Clock[By.Id];

        public TraceLine Line => new(By.Id, By.Name, $"{Site}, in a race");

        public bool HappensBefore(TrackedThread thread) => By is null || By == thread || thread.Clock[By.Id] >= _time;
    }

    private struct Accesses
    {
        public Access Write;

        /// <summary>A read since then; most locations have readers in order, and so one is enough.</summary>
        public Access Read;

        /// <summary>Reads that have no order among them.</summary>
        public List<Access>? Reads;

        // All accesses so far.
        public TrackedThread? First;
        public int Count;
        public bool IsShared;
        public bool IsWritten;
    }
}
