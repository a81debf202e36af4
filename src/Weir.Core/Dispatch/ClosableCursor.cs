using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// A worker's position on its way from item to item. Another thread can close the way in order to take an item, or those behind it, from the worker. The worker
/// pays a store and a load per item; the other thread pays for both with a process-wide barrier.
/// </summary>
/// <remarks>
/// <para>
/// Only the worker writes the position: it stores where it goes, and then loads whether the way is closed. The other thread closes it, issues the barrier, and
/// then loads the position. If the worker has found it open, it did so before the barrier, and the barrier makes its position visible to the other thread,
/// which sees that the worker has gone on. Otherwise the worker sees that it is closed. So at least one of them knows of the other. Both may; what then decides
/// is a word that both try to change (<see cref="ItemGuard"/>).
/// </para>
/// <para>
/// Without the barrier, the worker's processor may load before its store is visible. Then the worker ends an item that the other thread has taken, and the item
/// has two outcomes.
/// </para>
/// </remarks>
internal struct ClosableCursor
{
    private long _position;
    private bool _isClosed;

    /// <summary>Where the worker is.</summary>
    public readonly long Position => Volatile.Read(in _position);

    /// <summary>Moves on. Only for the worker.</summary>
    /// <returns>Whether the way is open, so that nobody else knows of the worker.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryMoveTo(long position)
    {
        // The store first. The two volatile accesses keep the compiler from swapping them, and the barrier of the other thread keeps the processor from it.
        Volatile.Write(ref _position, position);
        return !Volatile.Read(ref _isClosed);
    }

    /// <summary>Closes the way, for good.</summary>
    /// <returns>Where the worker is. It may have gone on, and then knows that the way is closed.</returns>
    public long Close()
    {
        Volatile.Write(ref _isClosed, true);
        Interlocked.MemoryBarrierProcessWide();
        return Volatile.Read(ref _position);
    }
}
