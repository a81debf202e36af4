namespace Weir.Core.Sources;

/// <summary>
/// Items of a sequence that one reader at a time may advance. A worker that finds the turn taken leaves, because the reader that has it continues.
/// </summary>
internal abstract class TurnSource<T> : Source<T>
{
    private Turn _turn;
    private volatile bool _drained;
    private long _next;

    public sealed override bool TakesTurns => true;

    public sealed override bool IsReading => _turn.IsReading;

    public sealed override bool HasReader => _turn.IsTaken;

    public sealed override long NextIndex => Volatile.Read(ref _next);

    protected sealed override bool IsTurnTaken => _turn.IsTaken;

    protected override bool IsDrained => _drained;

    public sealed override ClaimResult FinishClaim(ref Chunk<T> chunk)
    {
        try
        {
            return Leave(FinishAdvance(ref chunk, _next), chunk.Count);
        }
        catch
        {
            Drain();
            throw;
        }
    }

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

        if (!HasOneReader && !_turn.TryTake())
        {
            return ClaimResult.Busy;
        }

        if (_drained || _next >= ceiling || HasStash)
        {
            // Items that were given back before the turn was taken come first, because no other worker may look after them while this one reads.
            GiveUpTurn();
            return HasStash ? ClaimResult.Stashed : _drained ? ClaimResult.Empty : ClaimResult.Throttled;
        }

        try
        {
            return Leave(Advance(ref chunk, (int)Math.Min(max, ceiling - _next), _next), chunk.Count);
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

    /// <summary>The sequence has ended, in whatever way. Only for the holder of the turn, which thereby gives it up.</summary>
    private void Drain()
    {
        _drained = true;
        GiveUpTurn();
    }

    private ClaimResult Leave(ClaimResult result, int count)
    {
        if (result == ClaimResult.Claimed)
        {
            _next += count;
        }
        else if (result is not (ClaimResult.Pending or ClaimResult.Paused))
        {
            _drained = true;
        }

        return HasOneReader ? result : LeaveTurn(ref _turn, result);
    }

    private void GiveUpTurn()
    {
        if (!HasOneReader)
        {
            _turn.GiveUp();
        }
    }
}
