using System.Buffers;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Weir.Core.Threads;

/// <summary>
/// Arrays of the shared pool, in such a way that a thread interrupt cannot come between. The pool takes locks of its own, at which an interrupt by user code
/// would surface in the middle of a change of ours. It is deferred until the thread waits for something else, as <see cref="LockHold"/> does.
/// </summary>
internal static class PooledArrays
{
    /// <summary>An array of at least a length, with anything in it.</summary>
    public static T[] Rent<T>(int length)
    {
        try
        {
            return ArrayPool<T>.Shared.Rent(length);
        }
        catch (ThreadInterruptedException)
        {
            Thread.CurrentThread.Interrupt();

            // Of a length that the pool takes back.
            return new T[length > 1 << 30 ? length : (int)BitOperations.RoundUpToPowerOf2((uint)Math.Max(length, 16))];
        }
    }

    /// <summary>Gives an array back, cleared of what would be kept alive.</summary>
    /// <param name="array">The array.</param>
    /// <param name="isClear">Whether it has been cleared already.</param>
    public static void Return<T>(T[] array, bool isClear = false)
    {
        try
        {
            ArrayPool<T>.Shared.Return(array, clearArray: !isClear && RuntimeHelpers.IsReferenceOrContainsReferences<T>());
        }
        catch (ThreadInterruptedException)
        {
            // The pool does without it.
            Thread.CurrentThread.Interrupt();
        }
    }
}
