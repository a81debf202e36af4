using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// The way of a worker from item to item, which another thread can close in order to take an item, or those behind it, from the worker. The worker pays a store
/// and a load per item; the other thread pays for both with a process-wide barrier.
/// </summary>
/// <remarks>
/// The worker stores its position, and then loads how far it may go. The other thread stores how far the worker may go, issues the barrier, and then loads the
/// worker's position. At least one of the two sees the other's store: either the worker stops, or it is seen to have gone on. What then decides is up to them:
/// a word that both try to change, or a lock.
/// </remarks>
internal struct Passage
{
    private long _position;
    private long _limit;

    /// <summary>Where the worker is.</summary>
    public readonly long Position => Volatile.Read(in _position);

    /// <summary>Moves on. Only for the worker.</summary>
    /// <returns>Whether the position is one that it may go to.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryMoveTo(long position)
    {
        // In this order; see above.
        Volatile.Write(ref _position, position);
        return position < Volatile.Read(ref _limit);
    }

    /// <summary>Puts the worker at a position, before it sets off.</summary>
    public void Begin(long position, long limit)
    {
        _position = position;
        _limit = limit;
    }

    /// <summary>Lets the worker go on to any position before the limit.</summary>
    public void Open(long limit) => Volatile.Write(ref _limit, limit);

    /// <summary>Lets the worker go to no position from the limit on.</summary>
    /// <returns>Where the worker is. Unless that is before the limit, it may have gone on.</returns>
    public long Close(long limit)
    {
        Volatile.Write(ref _limit, limit);
        Interlocked.MemoryBarrierProcessWide();
        return Volatile.Read(ref _position);
    }
}
