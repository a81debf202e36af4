namespace Weir.Core.Sources;

/// <summary>Batches of items that are in memory by index. Each batch is copied when it is claimed, so that only those in flight exist.</summary>
internal sealed class BatchSource<T>(int count, int batchSize, Func<int, int, T[]> slice)
    : IndexedSource<IReadOnlyList<T>>((int)(((long)count + batchSize - 1) / batchSize))
{
    protected override void Fill(ref Chunk<IReadOnlyList<T>> chunk, int first, int count1)
    {
        var batches = new IReadOnlyList<T>[count1];
        for (int i = 0; i < count1; i++)
        {
            int start = (first + i) * batchSize;
            batches[i] = slice(start, Math.Min(batchSize, count - start));
        }

        chunk.SetArray(batches, 0, count1, first);
    }
}
