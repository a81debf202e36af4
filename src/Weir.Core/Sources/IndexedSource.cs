using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Weir.Core.Sources;

/// <summary>Items that lie in memory by index. Workers share nothing but a cursor.</summary>
internal abstract class IndexedSource<T>(int count) : Source<T>
{
    private PaddedCursor _cursor;

    public sealed override int KnownCount => count;

    public sealed override long NextIndex => Volatile.Read(ref _cursor.Next);

    protected sealed override bool IsDrained => Volatile.Read(ref _cursor.Next) >= count;

    protected sealed override ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling)
    {
        int next = Volatile.Read(ref _cursor.Next);
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

            // Towards the end each claim takes an eighth of what is left at the most, so that workers end together.
            int take = (int)Math.Min(Math.Min(room, max), Math.Max(1, (count - next) >> 3));
            int seen = Interlocked.CompareExchange(ref _cursor.Next, next + take, next);
            if (seen == next)
            {
                Fill(ref chunk, next, take);
                return ClaimResult.Claimed;
            }

            next = seen;
        }
    }

    protected abstract void Fill(ref Chunk<T> chunk, int first, int count);

    /// <summary>The one hot word that workers write; alone on its cache lines.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct PaddedCursor
    {
        public Padding Before;
        public int Next;
        public Padding After;
    }

    [InlineArray(7)]
    private struct Padding
    {
        private long _word;
    }
}
