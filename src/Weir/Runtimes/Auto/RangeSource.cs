using Weir.Core.Dispatch;
using Weir.Core.Sources;

namespace Weir.Runtimes;

/// <summary>The items of a call as ranges, whose size the call's pilot sets. A range that was split off comes back as a separate range.</summary>
internal sealed class RangeSource<TItem, TResult>(Source<TItem> inner, AutoCall<TItem, TResult> call) : Source<WorkRange>
{
    public override int KnownCount => inner.KnownCount;

    public override long NextIndex => inner.NextIndex;

    public override long Unread => inner.Unread;

    public override bool TakesTurns => inner.TakesTurns;

    public override bool HasGivenBack => HasStash || inner.HasGivenBack;

    public override bool IsReading => inner.IsReading;

    public override bool IsLent => inner.IsLent;

    public override CancellationToken CancellationToken
    {
        get => inner.CancellationToken;
        set => inner.CancellationToken = value;
    }

    protected override bool IsTurnTaken => inner.IsBusy;

    protected override bool IsDrained => inner.IsExhausted;

    public override IEnumerable<(long First, int Count)> LeftOver() =>
        base.LeftOver() is var own && own == NothingLeft.Ranges ? inner.LeftOver() : LeftOver(own);

    private IEnumerable<(long First, int Count)> LeftOver(IEnumerable<(long First, int Count)> own) =>
        own.Select(range => (range.First, call.At(range.First).Count)).Concat(inner.LeftOver()).Order();

    public override void Hold(SourceHold hold)
    {
        base.Hold(hold);
        inner.Hold(hold);
    }

    public override bool TryLend() => inner.TryLend();

    public override void TakeBack() => inner.TakeBack();

    public override void OnReady(Action continuation) => inner.OnReady(continuation);

    public override ClaimResult FinishClaim(ref Chunk<WorkRange> chunk)
    {
        Chunk<TItem> items = default;
        return Begin(inner.FinishClaim(ref items), items, ref chunk);
    }

    public override void Close() => inner.Close();

    public override ValueTask DisposeAsync() => inner.DisposeAsync();

    /// <summary>Releases the memory of a range's items.</summary>
    public void ReleaseItems(ref Chunk<TItem> items) => inner.Release(ref items);

    /// <summary>Records an item that never made its call, because the run has stopped.</summary>
    public void Lose(long index) => inner.Lose(index, 1);

    /// <summary>Takes back items that a range does not run itself.</summary>
    public void GiveBack(in Chunk<TItem> items)
    {
        ItemRange<TItem, TResult> range = call.Rent();
        range.Begin(items);
        GiveBack(range);
    }

    /// <summary>Takes back a range that nobody will run.</summary>
    public void GiveBack(ItemRange<TItem, TResult> range)
    {
        Chunk<WorkRange> chunk = default;
        chunk.SetSingle(range, range.First);
        GiveBack(chunk);
    }

    protected override ClaimResult TryClaimNext(ref Chunk<WorkRange> chunk, int max, long ceiling)
    {
        Chunk<TItem> items = default;
        return Begin(inner.TryClaim(ref items, call.Pilot.Size, ceiling), items, ref chunk);
    }

    private ClaimResult Begin(ClaimResult result, in Chunk<TItem> items, ref Chunk<WorkRange> chunk)
    {
        if (result == ClaimResult.Claimed)
        {
            ItemRange<TItem, TResult> range = call.Rent();
            range.Begin(items);
            chunk.SetSingle(range, range.First);
        }

        return result;
    }
}
