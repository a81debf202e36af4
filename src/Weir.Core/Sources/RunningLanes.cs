using System.Numerics;

namespace Weir.Core.Sources;

/// <summary>
/// The lanes of the items that are out, by index. Items are added by one thread at a time. Each is taken once, by the thread that ends it, and usually without
/// a lock: indices that are out together are usually close to each other, and each has its own slot.
/// </summary>
/// <param name="count">The total number of items; -1 if it is not known.</param>
internal sealed class RunningLanes<T>(int count)
{
    private const int MostPlaces = 128;
    private const long Free = -1;

    private readonly Place[] _places = MakePlaces(count);
    private readonly Lock _lock = new();
    private Dictionary<long, Lane<T>>? _others;

    public void Add(long index, Lane<T> lane)
    {
        ref Place place = ref _places[index & (_places.Length - 1)];
        if (Volatile.Read(ref place.Index) == Free)
        {
            place.Lane = lane;
            Volatile.Write(ref place.Index, index);
            return;
        }

        lock (_lock)
        {
            (_others ??= []).Add(index, lane);
        }
    }

    /// <summary>Takes the lane of an item, which is then no longer out; null if the item is not out, or never was.</summary>
    public Lane<T>? Take(long index)
    {
        ref Place place = ref _places[index & (_places.Length - 1)];
        if (Volatile.Read(ref place.Index) == index)
        {
            Lane<T>? lane = place.Lane;
            Volatile.Write(ref place.Index, Free);
            return lane;
        }

        lock (_lock)
        {
            return _others is not null && _others.Remove(index, out Lane<T>? lane) ? lane : null;
        }
    }

    private static Place[] MakePlaces(int count)
    {
        int size = count < 0 ? MostPlaces : Math.Min(MostPlaces, (int)BitOperations.RoundUpToPowerOf2((uint)Math.Max(1, count)));
        Place[] places = new Place[size];
        foreach (ref Place place in places.AsSpan())
        {
            place.Index = Free;
        }

        return places;
    }

    private struct Place
    {
        public long Index;
        public Lane<T>? Lane;
    }
}
