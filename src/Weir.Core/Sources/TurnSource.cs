namespace Weir.Core.Sources;

/// <summary>
/// Items of a sequence that one reader at a time may advance. The turn is a flag and not a lock: no thread ever waits for it,
/// and the user's sequence runs under no lock. A worker that finds the turn taken goes away, because whoever has it goes on.
/// </summary>
internal abstract class TurnSource<T> : Source<T>
{
    private int _turn;
    private volatile bool _drained;
    private long _next;

    public sealed override bool TakesTurns => true;

    protected sealed override bool IsTurnTaken => Volatile.Read(ref _turn) != 0;

    public sealed override long NextIndex => Volatile.Read(ref _next);

    protected sealed override bool IsDrained => _drained;

    protected sealed override ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling)
    {
        if (_drained)
        {
            return ClaimResult.Empty;
        }

        if (Volatile.Read(ref _next) >= ceiling)
        {
            return ClaimResult.Throttled;
        }

        if (Interlocked.CompareExchange(ref _turn, 1, 0) != 0)
        {
            return ClaimResult.Busy;
        }

        if (_drained || _next >= ceiling)
        {
            Volatile.Write(ref _turn, 0);
            return _drained ? ClaimResult.Empty : ClaimResult.Throttled;
        }

        try
        {
            return Leave(Advance(ref chunk, (int)Math.Min(max, ceiling - _next), _next), in chunk);
        }
        catch
        {
            Drain();
            throw;
        }
    }

    public sealed override ClaimResult FinishClaim(ref Chunk<T> chunk)
    {
        try
        {
            return Leave(FinishAdvance(ref chunk, _next), in chunk);
        }
        catch
        {
            Drain();
            throw;
        }
    }

    /// <summary>Reads up to <paramref name="max"/> items. Only the holder of the turn gets here.</summary>
    /// <returns>Claimed, Empty or Pending.</returns>
    protected abstract ClaimResult Advance(ref Chunk<T> chunk, int max, long index);

    protected virtual ClaimResult FinishAdvance(ref Chunk<T> chunk, long index) => throw new System.Diagnostics.UnreachableException();

    private ClaimResult Leave(ClaimResult result, in Chunk<T> chunk)
    {
        switch (result)
        {
            case ClaimResult.Pending:
                return result;
            case ClaimResult.Claimed:
                _next += chunk.Count;
                break;
            default:
                _drained = true;
                break;
        }

        Volatile.Write(ref _turn, 0);
        return result;
    }

    private void Drain()
    {
        _drained = true;
        Volatile.Write(ref _turn, 0);
    }
}
