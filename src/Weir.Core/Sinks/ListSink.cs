using System.Globalization;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Weir.Core.Sources;

namespace Weir.Core.Sinks;

/// <summary>Stores results directly in the list that the caller gets, for a source whose count is known.</summary>
internal readonly struct ListSink<TResult>(ListCompletion<TResult> completion) : ISink<TResult>
{
    private readonly ListCompletion<TResult> _completion = completion;
    private readonly List<TResult> _list = completion.List;

    public bool HasSlots => true;

    public long Ceiling => long.MaxValue;

    // The list's own storage is the slot array. No other code has the list yet, and its full length was set before the start.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Span<TResult> Slots(long first, int count) => CollectionsMarshal.AsSpan(_list).Slice((int)first, count);

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => CollectionsMarshal.AsSpan(_list)[(int)index] = result;

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _completion.Skip(index);

    public void Complete(RunEnd end) => _completion.Complete(end);
}

/// <summary>The end of a run whose results go to a list: closes the gaps of failed items and completes the caller's task.</summary>
internal class ListCompletion<TResult> : TaskCompletionSource<List<TResult>>
{
    private List<long>? _skipped;

    public ListCompletion(int count)
    {
        List = new List<TResult>(count);
        CollectionsMarshal.SetCount(List, count);
    }

    /// <summary>The results; after the completion, those that the caller gets.</summary>
    public List<TResult> List;

    /// <summary>Records that an item has no result.</summary>
    public void Skip(long index)
    {
        List<long>? skipped = Volatile.Read(ref _skipped);
        if (skipped is null)
        {
            List<long> made = [];
            skipped = Interlocked.CompareExchange(ref _skipped, made, null) ?? made;
        }

        lock (skipped)
        {
            skipped.Add(index);
        }
    }

    /// <summary>Completes the caller's task.</summary>
    /// <param name="end">The end of the run.</param>
    /// <param name="segments">The results, if the count was not known. They are joined only if they are returned.</param>
    public void Complete(RunEnd end, Segments<TResult>? segments = null)
    {
        if (end.HasResults)
        {
            Gather(end, segments);
            if (end.Result == RunResult.FailedInPart)
            {
                TrySetException(new ItemsFailedException<TResult>(end.Failures!.Collected!, List));
            }
            else
            {
                TrySetResult(List);
            }
        }
        else
        {
            CompleteWithoutResults(end, segments);
        }
    }

    /// <summary>Completes the caller's task where the caller gets no result.</summary>
    protected virtual void CompleteWithoutResults(RunEnd end, Segments<TResult>? segments)
    {
        if (end.Result == RunResult.Cancelled)
        {
            TrySetCanceled(end.Cancelled!.Value);
        }
        else
        {
            TrySetException(end.Failures!.Single!);
        }
    }

    /// <summary>Makes the list one of the results, and of nothing else.</summary>
    protected void Gather(RunEnd end, Segments<TResult>? segments)
    {
        List = segments?.ToList(end.Claimed) ?? List;
        if (_skipped is not null || end.Claimed != List.Count || !ReferenceEquals(end.LeftOver, Source.NothingLeft))
        {
            CloseGaps(end);
        }
    }

    private void CloseGaps(RunEnd end)
    {
        List<long> gaps = _skipped ?? [];
        foreach ((long first, int count) in end.LeftOver)
        {
            for (int i = 0; i < count; i++)
            {
                gaps.Add(first + i);
            }
        }

        if (gaps.Count > 0)
        {
            gaps.Sort();
            Span<TResult> slots = CollectionsMarshal.AsSpan(List);
            int to = (int)Math.Min(gaps[0], end.Claimed);
            int gap = 0;
            for (int from = to; from < end.Claimed; from++)
            {
                if (gap < gaps.Count && gaps[gap] == from)
                {
                    gap++;
                    continue;
                }

                slots[to++] = slots[from];
            }

            List.RemoveRange(to, List.Count - to);
        }
        else if (end.Claimed < List.Count)
        {
            List.RemoveRange((int)end.Claimed, (int)(List.Count - end.Claimed));
        }
    }
}

/// <summary>Stores results by index for a source of unknown count, in segments that never move and are joined into the list at the end.</summary>
internal readonly struct GrowingListSink<TResult>(ListCompletion<TResult> completion) : ISink<TResult>
{
    private readonly ListCompletion<TResult> _completion = completion;
    private readonly Segments<TResult> _segments = new();

    public bool HasSlots => false;

    // Not the most that a list may have: the run would wait there for room, and says at its end, or earlier, that there are too many.
    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _segments[index] = result;

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _completion.Skip(index);

    public void Complete(RunEnd end) => _completion.Complete(end, _segments);
}

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

/// <summary>As its base, but disposes of the results of a run that failed or was cancelled, before the caller's task ends.</summary>
internal sealed class OwningListCompletion<TResult>(int count, UnusedResults<TResult> unused) : ListCompletion<TResult>(count)
{
    protected override void CompleteWithoutResults(RunEnd end, Segments<TResult>? segments)
    {
        Gather(end, segments);
        Task disposing = unused.DisposeAsync(CollectionsMarshal.AsSpan(List));
        if (disposing.IsCompleted)
        {
            base.CompleteWithoutResults(end, segments);
        }
        else
        {
            disposing.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => base.CompleteWithoutResults(end, segments));
        }
    }
}
