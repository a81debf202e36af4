using System.Diagnostics;

namespace Weir.Core.Sources;

/// <summary>
/// A sequence whose next step may run user code or wait. It is read one item at a time, and each item starts at once: no item that has been read waits for the
/// next one to be produced.
/// </summary>
internal abstract class OneByOneSource<T> : TurnSource<T>
{
    public sealed override int KnownCount => -1;

    protected sealed override ClaimResult Advance(ref Chunk<T> chunk, int max, long index) => Set(ref chunk, Step(out T? item), item, index);

    protected sealed override ClaimResult FinishAdvance(ref Chunk<T> chunk, long index) => Set(ref chunk, FinishStep(out T? item), item, index);

    /// <summary>Reads one item.</summary>
    /// <returns>Claimed, Empty or Pending.</returns>
    protected abstract ClaimResult Step(out T? item);

    /// <summary>Ends a step that was pending.</summary>
    protected virtual ClaimResult FinishStep(out T? item) => throw new UnreachableException();

    private ClaimResult Set(ref Chunk<T> chunk, ClaimResult result, T? item, long index)
    {
        if (result == ClaimResult.Claimed)
        {
            Keeper?.Add(index, item!);
            chunk.SetSingle(item!, index);
        }

        return result;
    }
}
