using System.Runtime.CompilerServices;

namespace Weir.Dataflow.Cores;

/// <summary>How many workers of a block are queued or running, plus the calls that have not ended.</summary>
/// <remarks>
/// It is the only state of workers that is changed without a lock. A thread that stores a message stores first and then reads the count, and adds a
/// worker if the degree allows one more. A worker that rests subtracts itself first, fences all processors, and then looks at the queue again. So one of them
/// sees the other; in the other order, a message could stay behind without a worker. Both changes with a bound are compare-and-swaps, so that two threads
/// cannot pass the bound together.
/// </remarks>
internal struct WorkerCount(int parallelism)
{
    // The calls that are pending count beside the workers, so both together must fit.
    private readonly int _parallelism = Math.Min(parallelism, int.MaxValue / 2);
    private int _busy;

    public int Busy => Volatile.Read(ref _busy);

    /// <summary>Whether there can be one worker at the most.</summary>
    public readonly bool IsSerial => _parallelism == 1;

    /// <summary>Whether there are more workers than the degree allows, because calls are pending.</summary>
    public bool IsCrowded => Busy > _parallelism;

    /// <summary>Adds a worker, if the degree allows one more.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryJoin() => Busy < _parallelism && TryJoinSlow();

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

            if (Interlocked.CompareExchange(ref _busy, busy - 1, busy) == busy)
            {
                return true;
            }
        }
    }

    /// <summary>Adds a call that is pending and counts in addition to its worker, or removes a worker or a call, in any case.</summary>
    public void Add(int count) => Interlocked.Add(ref _busy, count);

    private bool TryJoinSlow()
    {
        while (true)
        {
            int busy = Busy;
            if (busy >= _parallelism)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref _busy, busy + 1, busy) == busy)
            {
                return true;
            }
        }
    }
}
