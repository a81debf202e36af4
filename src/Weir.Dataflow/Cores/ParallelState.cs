using System.Runtime.InteropServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What the workers of one block share.</summary>
/// <remarks>
/// The count of the busy is the only state that is changed without a lock. A thread that stores a message stores first and then reads the count, and adds a
/// worker if the degree allows one more. A worker that rests subtracts itself first, fences all processors, and then looks at the queue again. So one of them
/// sees the other; in the other order, a message could stay behind without a worker. Both changes with a bound are compare-and-swaps, so that two threads
/// cannot pass the bound together.
/// </remarks>
internal sealed class ParallelState(int parallelism)
{
    // The calls that are pending count beside the workers, so both together must fit.
    private readonly int _parallelism = Math.Min(parallelism, int.MaxValue / 2);

    /// <summary>Held by the worker that takes a message out of the queue.</summary>
    public BiasedLock Claims;

    private Count _busy;

    /// <summary>The number of workers that are queued or running, plus the calls that have not ended.</summary>
    public int Busy => Volatile.Read(ref _busy.Value);

    /// <summary>Whether the degree allows one more.</summary>
    public bool WantsWorker => Busy < _parallelism;

    /// <summary>Whether there are more workers than the degree allows, because calls are pending.</summary>
    public bool IsCrowded => Busy > _parallelism;

    /// <summary>Adds a worker, if the degree allows one more.</summary>
    public bool TryJoin()
    {
        while (true)
        {
            int busy = Busy;
            if (busy >= _parallelism)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref _busy.Value, busy + 1, busy) == busy)
            {
                return true;
            }
        }
    }

    /// <summary>Removes a worker, if there are too many. Those that stay look at the queue before they rest.</summary>
    public bool TryLeave()
    {
        while (true)
        {
            int busy = Busy;
            if (busy <= _parallelism)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref _busy.Value, busy - 1, busy) == busy)
            {
                return true;
            }
        }
    }

    /// <summary>A call is pending, and counts in addition to its worker.</summary>
    public void Pending() => Interlocked.Increment(ref _busy.Value);

    /// <summary>Removes a worker or a call in any case.</summary>
    public void Rest() => Interlocked.Decrement(ref _busy.Value);

    /// <summary>Read by every thread that stores a message, so it is kept apart from what the workers write for each message.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 128)]
    private struct Count
    {
        [FieldOffset(64)]
        public int Value;
    }
}
