using System.Diagnostics;

namespace Weir.Core.Sources;

/// <summary>
/// A sequence whose next step may run user code or wait. It is read one item at a time, and each item starts at once: no item that has been read waits for the
/// next one to be produced.
/// </summary>
/// <remarks>
/// While items are tiny, taking and giving up the turn for each would cost more than the item itself. A worker may then keep the turn, and indicates by a plain
/// store, to a flag of its own, whether it is inside the sequence. If one of its items takes long after all, the stall watch takes the turn away from it, and
/// pays for both with a process-wide barrier. The worker finds out when it comes back, however many others have kept the turn meanwhile.
/// </remarks>
internal abstract class OneByOneSource<T> : TurnSource<T>
{
    /// <summary>What the sequence threw at a worker that kept the turn.</summary>
    public Exception? Failure { get; private set; }

    public sealed override int KnownCount => -1;

    /// <summary>Takes the turn for more than one item.</summary>
    /// <returns>The number of this keeping of the turn, for the other calls; 0 if there is nothing to read now, or another worker is reading.</returns>
    public int TryKeepTurn()
    {
        if (IsDrained || !Turn.TryTake())
        {
            return 0;
        }

        int keptAs = IsDrained || HasStash ? 0 : Turn.TryKeep();
        if (keptAs == 0)
        {
            Turn.GiveUp();
        }

        return keptAs;
    }

    /// <summary>Reads the next item with a kept turn. With any result other than Claimed, the turn is no longer kept.</summary>
    /// <param name="keptAs">The number of this keeping of the turn.</param>
    /// <param name="reads">The worker's own flag, which is set while it is inside the sequence.</param>
    /// <param name="item">The item.</param>
    /// <returns>Claimed, Empty (also after a <see cref="Failure"/>), Pending, or Busy if the turn was taken away.</returns>
    public ClaimResult ReadOn(int keptAs, ref bool reads, out T? item)
    {
        Volatile.Write(ref reads, true);
        if (!Turn.IsKept(keptAs))
        {
            Volatile.Write(ref reads, false);
            GiveUpKept(keptAs);
            item = default;
            return ClaimResult.Busy;
        }

        ClaimResult result;
        try
        {
            result = Step(out item);
        }
        catch (Exception e)
        {
            Failure = e;
            item = default;
            result = ClaimResult.Empty;
        }

        if (result == ClaimResult.Claimed)
        {
            CountRead();
            Volatile.Write(ref reads, false);
            return result;
        }

        Turn.StopKeeping();
        Volatile.Write(ref reads, false);
        if (result == ClaimResult.Pending)
        {
            Turn.Wait();
        }
        else
        {
            Drain();
        }

        return result;
    }

    public sealed override void GiveUpKept(int keptAs) => Turn.TakeAway(keptAs);

    public sealed override int EndKeeping()
    {
        int keptAs = Turn.EndKeeping();
        if (keptAs != 0)
        {
            // After the barrier, either the worker sees this before it continues to read, or its flag shows that it is inside the sequence.
            Interlocked.MemoryBarrierProcessWide();
        }

        return keptAs;
    }

    protected sealed override ClaimResult Advance(ref Chunk<T> chunk, int max, long index) => Set(ref chunk, Step(out T? item), item, index);

    protected sealed override ClaimResult FinishAdvance(ref Chunk<T> chunk, long index) => Set(ref chunk, FinishStep(out T? item), item, index);

    /// <summary>Reads one item.</summary>
    /// <returns>Claimed, Empty or Pending.</returns>
    protected abstract ClaimResult Step(out T? item);

    /// <summary>Ends a step that was pending.</summary>
    protected virtual ClaimResult FinishStep(out T? item) => throw new UnreachableException();

    private static ClaimResult Set(ref Chunk<T> chunk, ClaimResult result, T? item, long index)
    {
        if (result == ClaimResult.Claimed)
        {
            chunk.SetSingle(item!, index);
        }

        return result;
    }
}
