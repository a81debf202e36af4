using Weir.Core.Threads;

namespace Weir.Core.Sources;

/// <summary>
/// A materialised collection without an index (a set, a queue, a range). Its items already exist, so reading a chunk of them
/// makes no item wait. Each worker reads into a small buffer of its own, never the whole collection.
/// </summary>
internal sealed class CollectionSource<T>(IEnumerable<T> items, int count) : TurnSource<T>
{
    private IEnumerator<T>? _enumerator;

    public override int KnownCount => count;

    public override void Release(ref Chunk<T> chunk)
    {
        if (chunk.Array is { } buffer)
        {
            PooledArrays.Return(buffer);
        }

        chunk.Clear();
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
                PooledArrays.Return(buffer);
                chunk.Clear();
            }

            buffer = PooledArrays.Rent<T>(max);
            chunk.SetArray(buffer, 0, 0, index);
        }

        int read = 0;
        while (read < max && enumerator.MoveNext())
        {
            buffer[read++] = enumerator.Current;
        }

        chunk.SetArray(buffer, 0, read, index);
        if (read == 0)
        {
            return index == count ? ClaimResult.Empty : throw Changed();
        }

        return index + read <= count ? ClaimResult.Claimed : throw Changed();
    }

    private static InvalidOperationException Changed() =>
        new("The source collection had another number of items than its Count said: it was changed while the run was reading it.");
}
