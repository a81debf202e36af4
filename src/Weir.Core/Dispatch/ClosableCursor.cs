using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// A worker's position on its way from item to item. Another thread can close the way in order to take an item, or those behind it, from the worker. The worker
/// pays a store and a load per item; the other thread pays for both with a process-wide barrier.
/// </summary>
/// <remarks>
/// <para>
/// Only the worker writes the position: it stores where it goes, and then loads the limit. The other thread stores the limit, issues the barrier, and then
/// loads the position. If the worker has loaded the old limit, it did so before the barrier, and the barrier makes its position visible to the other thread,
/// which sees that the worker has gone on. Otherwise the worker sees the new limit, and stops. So at least one of them knows of the other. Both may; what then
/// decides is up to them: a word that both try to change (<see cref="ItemGuard"/>), or a lock.
/// </para>
/// <para>
/// Without the barrier, the worker's processor may load the limit before its store is visible. Then the worker goes on to an item that the other thread has
/// taken, and the item runs twice.
/// </para>
/// </remarks>
internal struct ClosableCursor
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
        // The store first. The two volatile accesses keep the compiler from swapping them, and the barrier of the other thread keeps the processor from it.
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
