using System.Diagnostics;

namespace Weir.Core.Sources;

/// <summary>
/// A source whose items have keys: at most so many items of one key are out at a time, in source order; items of other keys pass them. An
/// item that has to wait for its lane lies in the lane's queue, and reading stops while as many wait as may.
/// </summary>
/// <remarks>
/// Items enter their lanes in source order, because whoever reads the inner source holds a turn while doing so; the user's key function runs
/// under that turn and under no lock. An item whose lane becomes free is given back like any other, so any worker can claim it.
/// </remarks>
internal sealed class KeyedSource<T, TKey>(Source<T> inner, Func<T, TKey> keyOf, IEqualityComparer<TKey>? comparer, int perLane, int mostWaiting)
    : Source<T>, ILanes
    where TKey : notnull
{
    private readonly Lock _lock = new();
    private readonly Dictionary<TKey, Lane> _lanes = new(comparer);
    private readonly Dictionary<long, Lane> _running = [];

    // Lanes without items, for the next keys: as many as there once were at the same time.
    private readonly Stack<Lane> _free = [];
    private int _turn;

    // Of the pending claim; only for the holder of the turn.
    private long _ceiling;
    private int _waiting;

    public override bool IsReading => Volatile.Read(ref _turn) != 0;

    // The count says how many items come out at most, which is what the slots are made for; lanes hold none back for ever.
    public override int KnownCount => inner.KnownCount;

    public override long NextIndex => inner.NextIndex;

    public override bool TakesTurns => true;

    public override CancellationToken CancellationToken
    {
        get => inner.CancellationToken;
        set => inner.CancellationToken = value;
    }

    // While nothing can be read, some item is running, and its end lets the worker that ran it go on.
    protected override bool IsTurnTaken =>
        Volatile.Read(ref _turn) != 0 || IsFull || (inner.IsExhausted && Volatile.Read(ref _waiting) > 0);

    protected override bool IsDrained => inner.IsExhausted && Volatile.Read(ref _waiting) == 0;

    private bool IsFull => Volatile.Read(ref _waiting) >= mostWaiting;

    public override void OnReady(Action continuation) => inner.OnReady(continuation);

    public override ClaimResult FinishClaim(ref Chunk<T> chunk)
    {
        try
        {
            ClaimResult result = inner.FinishClaim(ref chunk);
            return Leave(result == ClaimResult.Claimed && !Enter(ref chunk) ? Read(ref chunk, _ceiling) : result);
        }
        catch
        {
            Volatile.Write(ref _turn, 0);
            throw;
        }
    }

    public override IEnumerable<(long First, int Count)> LeftOver() =>
        base.LeftOver()
            .Concat(inner.LeftOver())
            .Concat(_lanes.Values.SelectMany(static lane => lane.Waiting).Select(static item => (item.Index, 1)))
            .Order();

    public override ValueTask DisposeAsync() => inner.DisposeAsync();

    public void ItemEnded(long index)
    {
        (T Item, long Index)? next = null;
        using (_lock.Hold())
        {
            AssertInvariants();
            if (!_running.Remove(index, out Lane? lane))
            {
                return;
            }

            if (lane.Waiting.TryDequeue(out (T Item, long Index) waiting))
            {
                _waiting--;
                _running.Add(waiting.Index, lane);
                next = waiting;
            }
            else if (--lane.Running == 0)
            {
                _lanes.Remove(lane.Key);
                lane.Key = default!;
                _free.Push(lane);
            }
        }

        if (next is { } item)
        {
            Chunk<T> chunk = default;
            chunk.SetSingle(item.Item, item.Index);
            GiveBack(chunk);
        }
    }

    protected override ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling)
    {
        if (IsDrained)
        {
            return ClaimResult.Empty;
        }

        if (Interlocked.CompareExchange(ref _turn, 1, 0) != 0)
        {
            return ClaimResult.Busy;
        }

        try
        {
            _ceiling = ceiling;
            return Leave(Read(ref chunk, ceiling));
        }
        catch
        {
            Volatile.Write(ref _turn, 0);
            throw;
        }
    }

    /// <summary>Reads on until an item may start, or nothing more can be read.</summary>
    private ClaimResult Read(ref Chunk<T> chunk, long ceiling)
    {
        while (!IsFull)
        {
            ClaimResult result = inner.TryClaim(ref chunk, 1, ceiling);
            if (result != ClaimResult.Claimed)
            {
                return result == ClaimResult.Empty && Volatile.Read(ref _waiting) > 0 ? ClaimResult.Busy : result;
            }

            if (Enter(ref chunk))
            {
                return ClaimResult.Claimed;
            }
        }

        return ClaimResult.Busy;
    }

    /// <summary>Puts an item that was read into its lane.</summary>
    /// <returns>Whether it may start at once.</returns>
    private bool Enter(ref Chunk<T> chunk)
    {
        T item = chunk.Items[0];
        long index = chunk.FirstIndex;
        TKey key = keyOf(item);
        if (key is null)
        {
            throw new InvalidOperationException($"The key of the item at index {index} is null.");
        }

        using (_lock.Hold())
        {
            AssertInvariants();
            if (!_lanes.TryGetValue(key, out Lane? lane))
            {
                lane = _free.TryPop(out Lane? free) ? free : new Lane();
                lane.Key = key;
                _lanes.Add(key, lane);
            }

            if (lane.Running < perLane)
            {
                lane.Running++;
                _running.Add(index, lane);
                chunk.SetSingle(item, index);
                return true;
            }

            lane.Waiting.Enqueue((item, index));
            _waiting++;
        }

        chunk.Position = chunk.Count;
        return false;
    }

    private ClaimResult Leave(ClaimResult result)
    {
        if (result != ClaimResult.Pending)
        {
            Volatile.Write(ref _turn, 0);
        }

        return result;
    }

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "Lanes are changed under the lock.");
        Debug.Assert(_waiting >= 0 && _waiting <= mostWaiting, "Reading stops while as many wait as may.");
    }

    private sealed class Lane
    {
        public TKey Key { get; set; } = default!;

        public int Running { get; set; }

        public Queue<(T Item, long Index)> Waiting { get; } = new();
    }
}
