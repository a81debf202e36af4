namespace Weir.Core.Sources;

/// <summary>Items that are in memory by index. Workers share only a cursor.</summary>
internal abstract class IndexedSource<T>(int count) : Source<T>
{
    // Written once per chunk, which is rare while items are tiny. Padding would cost each run more in bytes than it saves in time.
    private int _next;

    public sealed override IndexedSource<T>? InMemory => this;

    public sealed override int KnownCount => count;

    public sealed override long NextIndex => Volatile.Read(ref _next);

    protected sealed override bool IsDrained => Volatile.Read(ref _next) >= count;

    protected sealed override ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling)
    {
        int next = Volatile.Read(ref _next);
        while (true)
        {
            if (next >= count)
            {
                return ClaimResult.Empty;
            }

            long room = Math.Min(ceiling, count) - next;
            if (room <= 0)
            {
                return ClaimResult.Throttled;
            }

            // Towards the end, each claim takes at most an eighth of what is left, so that workers end together.
            int take = (int)Math.Min(Math.Min(room, max), HasOneWorker ? max : Math.Max(1, (count - next) >> 3));
            int seen = Interlocked.CompareExchange(ref _next, next + take, next);
            if (seen == next)
            {
                try
                {
                    Fill(ref chunk, next, take);
                }
                catch
                {
                    Lose(next, take);
                    throw;
                }

                return ClaimResult.Claimed;
            }

            next = seen;
        }
    }

    /// <summary>The item at an index, or nothing if the caller has changed the list meanwhile.</summary>
    public virtual T? At(long index)
    {
        try
        {
            Chunk<T> chunk = default;
            Fill(ref chunk, (int)index, 1);
            return chunk.Items[0];
        }
        catch (InvalidOperationException)
        {
            return default;
        }
    }

    protected abstract void Fill(ref Chunk<T> chunk, int first, int count);
}
