using System.Buffers;
using System.Runtime.CompilerServices;

namespace Weir.Core.Sources;

/// <summary>
/// A materialised collection without an index (a set, a queue, a range). Its items already exist, so reading a chunk of them
/// makes no item wait. Each worker reads into a small buffer of its own, never the whole collection.
/// </summary>
internal sealed class CollectionSource<T>(IEnumerable<T> items, int count) : TurnSource<T>
{
    private IEnumerator<T>? _enumerator;

    private List<T>? _unread;

    public override int KnownCount => count;

    public override void Release(ref Chunk<T> chunk)
    {
        if (chunk.Array is { } buffer)
        {
            ArrayPool<T>.Shared.Return(buffer, clearArray: RuntimeHelpers.IsReferenceOrContainsReferences<T>());
        }

        chunk.Clear();
    }

    public override T? UnreadAt(long index)
    {
        _unread ??= ReadUnread();
        long place = index - NextIndex;
        return place >= 0 && place < _unread.Count ? _unread[(int)place] : default;
    }

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Advance(ref Chunk<T> chunk, int max, long index)
    {
        IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
        max = (int)Math.Min(max, Math.Max(1, (count - index) >> 3));
        T[]? buffer = chunk.Array;
        if (buffer is null || buffer.Length < max)
        {
            if (buffer is not null)
            {
                ArrayPool<T>.Shared.Return(buffer, clearArray: RuntimeHelpers.IsReferenceOrContainsReferences<T>());
                chunk.Clear();
            }

            buffer = ArrayPool<T>.Shared.Rent(max);
            chunk.SetArray(buffer, 0, 0, index);
        }

        int read = 0;
        while (read < max && enumerator.MoveNext())
        {
            buffer[read++] = enumerator.Current;
        }

        for (int i = 0; Keeper is { } keeper && i < read; i++)
        {
            keeper.Add(index + i, buffer[i]);
        }

        chunk.SetArray(buffer, 0, read, index);
        if (read == 0)
        {
            return index == count ? ClaimResult.Empty : throw Changed();
        }

        return index + read <= count ? ClaimResult.Claimed : throw Changed();
    }

    // Once more from the start: the run has closed its enumerator.
    private List<T> ReadUnread()
    {
        try
        {
            return [.. items.Skip((int)NextIndex)];
        }
        catch (Exception)
        {
            // The collection was changed meanwhile, or is code of the user that fails.
            return [];
        }
    }

    private static InvalidOperationException Changed() =>
        new("The source collection had another number of items than its Count said: it was changed while the run was reading it.");
}
