using System.Runtime.InteropServices;

namespace Weir.Explore.Scheduling;

/// <summary>
/// The store buffers of x86 (TSO): each thread has one. What it stores waits there, and comes to memory, where the others see it, in its order: one store after
/// the other whenever the explorer chooses (<see cref="Execution"/>), all with the thread's own next fence. The thread itself sees its newest store of a place.
/// </summary>
/// <remarks>
/// A store that waits has to find its place when it comes to memory, whatever a garbage collection has moved until then. So a place is an object and an offset
/// in it, or the address of a static field. Rewritten code tells of the object before it stores (<see cref="Known"/>). A store whose object is not known, such
/// as one through a reference that was passed on, comes to memory at once, after all that wait before it: as if the thread had had a fence there.
/// </remarks>
internal sealed class StoreBuffers
{
    private const int MostKnown = 4;

    private readonly Dictionary<TrackedThread, Buffer> _buffers = [];

    public bool Any(TrackedThread of) => _buffers.TryGetValue(of, out Buffer? buffer) && buffer.Stores.Count > 0;

    /// <summary>The thread is about to store here, or in a part of it.</summary>
    public void Known<T>(TrackedThread me, object? owner, ref T location)
    {
        Buffer buffer = CollectionsMarshal.GetValueRefOrAddDefault(_buffers, me, out _) ??= new Buffer();
        if (buffer.Known.Count == MostKnown)
        {
            buffer.Known.Dequeue();
        }

        buffer.Known.Enqueue((Place.Of(owner, ref location), Unsafe.SizeOf<T>()));
    }

    public void Write<T>(TrackedThread me, ref T location, T value)
    {
        _ = _buffers.TryGetValue(me, out Buffer? buffer);
        foreach ((Place place, nint size) in buffer is null ? [] : buffer.Known)
        {
            nint from = place.DistanceTo(ref location);
            if (from >= 0 && from + Unsafe.SizeOf<T>() <= size)
            {
                buffer!.Stores.Enqueue(new Store<T>(place with { Offset = place.Offset + from }, value, me.Site));
                return;
            }
        }

        Flush(me);
        location = value;
    }

    /// <summary>What the thread sees.</summary>
    public T Read<T>(TrackedThread me, ref T location)
    {
        if (Any(me))
        {
            foreach (Store store in _buffers[me].Stores.Reverse())
            {
                nint from = store.Place.DistanceTo(ref location);
                if (from == 0 && store is Store<T> same)
                {
                    return same.Value;
                }

                if (from > -Unsafe.SizeOf<T>() && from < store.Size)
                {
                    Flush(me);
                    break;
                }
            }
        }

        return location;
    }

    /// <summary>All stores of a thread come to memory: it has a fence.</summary>
    public void Flush(TrackedThread of)
    {
        while (Any(of))
        {
            FlushOldest(of);
        }
    }

    public void FlushAll()
    {
        foreach (TrackedThread thread in _buffers.Keys)
        {
            Flush(thread);
        }
    }

    /// <summary>Returns where the store was made.</summary>
    public string FlushOldest(TrackedThread of)
    {
        Store oldest = _buffers[of].Stores.Dequeue();
        oldest.Complete();
        return oldest.Site;
    }

    /// <summary>The stores of a thread that wait, and the places that it has told of last.</summary>
    private sealed class Buffer
    {
        public Queue<Store> Stores { get; } = new();

        public Queue<(Place Place, nint Size)> Known { get; } = new();
    }

    private abstract record Store(Place Place, nint Size, string Site)
    {
        public abstract void Complete();
    }

    private sealed record Store<T>(Place Place, T Value, string Site) : Store(Place, Unsafe.SizeOf<T>(), Site)
    {
        public override void Complete() => Place.At<T>() = Value;
    }

    /// <summary>Where something is: in an object, or, with none, at an address that does not move.</summary>
    private readonly record struct Place(object? Owner, nint Offset)
    {
        public static unsafe Place Of<T>(object? owner, ref T location) =>
            new(owner, owner is null ? (nint)Unsafe.AsPointer(ref location) : Unsafe.ByteOffset(ref Start(owner), ref Unsafe.As<T, byte>(ref location)));

        public ref T At<T>() => ref Unsafe.As<byte, T>(ref First);

        /// <summary>How many bytes behind this place a location is. One of another object is never within the size of this one.</summary>
        public nint DistanceTo<T>(ref T location) => Unsafe.ByteOffset(ref First, ref Unsafe.As<T, byte>(ref location));

        private unsafe ref byte First => ref Owner is null ? ref Unsafe.AsRef<byte>((void*)Offset) : ref Unsafe.AddByteOffset(ref Start(Owner), Offset);

        private static ref byte Start(object owner) => ref Unsafe.As<AnyObject>(owner).First;
    }

    /// <summary>Laid over any object: its first field.</summary>
    private sealed class AnyObject
    {
#pragma warning disable CS0649 // It is that of another object.
        public byte First;
#pragma warning restore CS0649
    }
}
