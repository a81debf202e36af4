using System.Globalization;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Core.Sinks;

/// <summary>
/// An array that grows while several threads write to different indices. Each segment is twice as long as the previous one and
/// never moves, so that a write needs no lock.
/// </summary>
internal sealed class Segments<T>
{
    private const int FirstBits = 5;
    private const int First = 1 << FirstBits;
    private const int FirstOfLarge = 8;

    // The last one that an array can be. The first index behind it is larger than that of any list.
    private const int Last = 30 - FirstBits;

    private static readonly Lock s_growing = new();

    private readonly T[]?[] _segments = new T[32 - FirstBits][];

    public T this[long index]
    {
        get
        {
            (int segment, uint place) = PlaceOf(index);
            return Volatile.Read(ref _segments[segment])![place];
        }

        set
        {
            (int segment, uint place) = PlaceOf(index);
            T[] array = Volatile.Read(ref _segments[segment]) ?? Add(segment);
            array[place] = value;
        }
    }

    /// <summary>The first <paramref name="count"/> values; those never written have the default value.</summary>
    /// <exception cref="InvalidOperationException">No list can hold as many.</exception>
    public List<T> ToList(long count)
    {
        int length = LengthOf(count);
        List<T> list = new(length);
        CollectionsMarshal.SetCount(list, length);
        CopyTo(CollectionsMarshal.AsSpan(list));
        return list;
    }

    /// <summary>The same as an array.</summary>
    /// <exception cref="InvalidOperationException">No array can hold as many.</exception>
    public T[] ToArray(long count)
    {
        T[] array = new T[LengthOf(count)];
        CopyTo(array);
        return array;
    }

    // Segment s covers [First * (2^s - 1), First * (2^(s+1) - 1)).
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static (int Segment, uint Place) PlaceOf(long index)
    {
        uint shifted = (uint)index + First;
        int segment = BitOperations.Log2(shifted) - FirstBits;
        return (segment, shifted - ((uint)First << segment));
    }

    private static int LengthOf(long count) => count <= Array.MaxLength ? (int)count : throw TooMany();

    private static InvalidOperationException TooMany()
    {
        string most = Array.MaxLength.ToString("N0", CultureInfo.InvariantCulture);
        return new InvalidOperationException(
            $"The source has more than {most} items, and no list or array can hold as many results: take them as a stream "
            + "(SelectParallelStreamAsync, SelectParallelOutcomesStreamAsync).");
    }

    private void CopyTo(Span<T> left)
    {
        for (int segment = 0; left.Length > 0; segment++)
        {
            int length = Math.Min(left.Length, First << segment);
            _segments[segment]?.AsSpan(0, length).CopyTo(left);
            left = left[length..];
        }
    }

    private T[] Add(int segment)
    {
        if (segment > Last)
        {
            throw TooMany();
        }

        if (segment < FirstOfLarge)
        {
            T[] added = new T[First << segment];
            return Interlocked.CompareExchange(ref _segments[segment], added, null) ?? added;
        }

        // Of a large one, nobody makes a second only to throw it away: there may be room for one.
        lock (s_growing)
        {
            if (_segments[segment] is not { } array)
            {
                array = new T[First << segment];
                Volatile.Write(ref _segments[segment], array);
            }

            return array;
        }
    }
}
