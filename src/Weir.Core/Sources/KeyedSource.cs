using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Numerics;
using System.Runtime.ExceptionServices;

namespace Weir.Core.Sources;

// Items by key: at most so many of one key run at a time.
//
// - A lane is the items of one key: how many of them are out, and a queue of those that wait. The reader, who has the turn, gets the keys (code of the user,
//   under no lock), finds the lanes, and lets the items enter in source order, under the lock of all lanes.
// - An item that ends leaves its lane (ItemEnded, told by the sink). If none waits there, that is one compare-and-swap and takes no lock. If one does, the next
//   one takes its place under the lock, and is given back to the source for any worker to claim.
// - So the bit SomeWait decides: it is set and cleared under the lock only, and while it is set, the count falls under the lock only.
// - Reading stops while as many items wait as may. Then the source is busy as if it were being read: an item that ends lets the worker that ran it go on.

/// <summary>
/// A source whose items have keys. At most a given number of items of one key are out at a time, in source order; items of other keys can overtake them. An
/// item that has to wait for its lane is in the lane's queue, and reading stops while as many items wait as are allowed to.
/// </summary>
/// <remarks>
/// <para>
/// Items enter their lanes in source order, because a thread that reads the inner source holds a turn meanwhile. The user's key function, and the hash and the
/// equality of keys, run under that turn and under no lock. An item whose lane becomes free is given back like any other, so any worker can claim it.
/// </para>
/// <para>
/// Items that are in memory are read several at a time, while they are quick, and enter their lanes under one lock. Those behind the first one that has to wait
/// are read next. An item that ends while none of its key waits takes no lock.
/// </para>
/// </remarks>
internal sealed class KeyedSource<T, TKey>(Source<T> inner, Func<T, TKey> keyOf, IEqualityComparer<TKey>? comparer, int perLane, int mostWaiting)
    : Source<T>, ILanes
    where TKey : notnull
{
    // Only a few: each of them holds its lane until it has run, and one that suddenly blocks holds up those behind it.
    private const int MostAtOnce = 16;
    private const long NoRest = -1;

    // Immutable, and what guards itself.
    private readonly Lock _lock = new();
    private readonly Source<T> _inner = WithOneReader(inner);
    private readonly LaneTable<T, TKey> _lanes = new(inner.KnownCount, comparer);
    private readonly RunningLanes<T> _running = new(inner.KnownCount);
    private readonly ILanes? _innerLanes = inner as ILanes;
    private readonly int _mostAtOnce = inner is IndexedSource<T> ? MostAtOnce : 1;

    // At least one: a source that may keep no item waiting could never be read, not even to learn that it is empty.
    private readonly int _mostWaiting = Math.Max(1, mostWaiting);
    // Atomic: who takes it reads.
    private Turn _turn;

    // Of the holder of the turn, as is the table of lanes. Those of the items that were read and have not entered, which follow one another.
    private readonly Lane<T>[] _next = new Lane<T>[inner is IndexedSource<T> ? MostAtOnce : 1];
    private int _keyed;
    private ExceptionDispatchInfo? _keyFailure;
    private Chunk<T> _rest;
    private long _ceiling;

    // Written by the holder of the turn, read by anybody.
    private long _restAt = NoRest;

    // Under the lock, and read without it.
    private int _waiting;

    public override bool IsReading => _turn.IsReading;

    public override bool HasReader => _turn.IsTaken;

    public override IndexedSource<T>? InMemory => _inner.InMemory;

    public override IItemKeeper<T>? Keeper
    {
        get => _inner.Keeper;
        set => _inner.Keeper = value;
    }

    // The count is the largest number of items that can come out, which is what the slots are for; lanes hold none back for ever.
    public override int KnownCount => _inner.KnownCount;

    public override long Unread => _inner.Unread;

    public override BatchTally? Tally => _inner.Tally;

    public override int WaitingForKeys => Volatile.Read(ref _waiting);

    public override long NextIndex => Volatile.Read(ref _restAt) is var rest and not NoRest ? rest : _inner.NextIndex;

    public override bool TakesTurns => true;

    public override CancellationToken CancellationToken
    {
        get => _inner.CancellationToken;
        set => _inner.CancellationToken = value;
    }

    // While nothing can be read, some item is running, and its end lets the worker that ran it continue.
    protected override bool IsTurnTaken =>
        _turn.IsTaken || IsFull || (IsRead && Volatile.Read(ref _waiting) > 0);

    protected override bool IsDrained => IsRead && Volatile.Read(ref _waiting) == 0;

    public override bool BeginsWhatWasRead => _inner.BeginsWhatWasRead;

    private bool IsRead => _inner.IsExhausted && Volatile.Read(ref _restAt) == NoRest;

    private bool IsFull => Volatile.Read(ref _waiting) >= _mostWaiting;

    public override void OnReady(Action continuation) => _inner.OnReady(continuation);

    public override void Hold(SourceHold hold)
    {
        base.Hold(hold);
        _inner.Hold(hold);
    }

    public override ClaimResult FinishClaim(ref Chunk<T> chunk)
    {
        try
        {
            ClaimResult result = _inner.FinishClaim(ref chunk);
            return LeaveTurn(ref _turn, result == ClaimResult.Claimed && !Enter(ref chunk) ? Read(ref chunk, 1, _ceiling) : result);
        }
        catch
        {
            _turn.GiveUp();
            throw;
        }
    }

    public override IEnumerable<(long First, int Count)> LeftOver() =>
        base.LeftOver().Concat(_inner.LeftOver()).Concat(_lanes.Waiting.Select(static index => (index, 1))).Order();

    public override T? UnreadAt(long index) => _inner.UnreadAt(index);

    public override ValueTask DisposeAsync() => _inner.DisposeAsync();

    public override void Close() => _inner.Close();

    public void ItemEnded(long index, ItemEnd end = ItemEnd.Succeeded)
    {
        _innerLanes?.ItemEnded(index, end);
        Lane<T>? lane = _running.Take(index);
        if (lane is null || lane.TryLeave())
        {
            return;
        }

        Chunk<T> chunk = default;
        lock (_lock)
        {
            AssertInvariants();
            if (!lane.LeaveOrNextNeedsLock(out (T Item, long Index) next))
            {
                return;
            }

            _waiting--;
            _running.Add(next.Index, lane);
            chunk.SetSingle(next.Item, next.Index);
        }

        GiveBack(chunk);
    }

    protected override ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling)
    {
        if (IsDrained)
        {
            return ClaimResult.Empty;
        }

        if (!_turn.TryTake())
        {
            return ClaimResult.Busy;
        }

        if (HasStash)
        {
            // As in TurnSource.
            _turn.GiveUp();
            return ClaimResult.Stashed;
        }

        try
        {
            _ceiling = ceiling;
            return LeaveTurn(ref _turn, Read(ref chunk, Math.Min(max, _mostAtOnce), ceiling));
        }
        catch
        {
            _turn.GiveUp();
            throw;
        }
    }

    /// <summary>Reads until an item may start, or nothing more can be read.</summary>
    private ClaimResult Read(ref Chunk<T> chunk, int max, long ceiling)
    {
        while (!IsFull)
        {
            if (IsHeld)
            {
                return ClaimResult.Paused;
            }

            if (!_rest.IsEmpty)
            {
                if (_rest.FirstIndex >= ceiling)
                {
                    return ClaimResult.Throttled;
                }

                if (_keyed == 0)
                {
                    _keyFailure?.Throw();
                }

                chunk = _rest;
                _rest.Clear();
            }
            else
            {
                ClaimResult result = _inner.TryClaim(ref chunk, max, ceiling);
                if (result != ClaimResult.Claimed)
                {
                    return result == ClaimResult.Empty && Volatile.Read(ref _waiting) > 0 ? ClaimResult.Busy : result;
                }
            }

            if (Enter(ref chunk))
            {
                return ClaimResult.Claimed;
            }

            if (CancellationToken.IsCancellationRequested)
            {
                // The run is over, and no item whose lane is free may ever come: the sequence may be endless. The worker sees the end, and leaves.
                break;
            }
        }

        return ClaimResult.Busy;
    }

    /// <summary>Puts items that were read into their lanes, up to the first one that has to wait; those behind it are read next.</summary>
    /// <returns>Whether some of them may start at once. If so, the chunk contains these.</returns>
    private bool Enter(ref Chunk<T> chunk)
    {
        scoped ReadOnlySpan<T> items;
        try
        {
            items = chunk.Items;
            if (_keyed == 0)
            {
                FindLanes(items, chunk.FirstIndex);
            }
        }
        catch
        {
            // They remain as they are: read, and never run.
            _rest = chunk.TakeRest(0);
            Volatile.Write(ref _restAt, _rest.FirstIndex);
            throw;
        }

        int count = _keyed;
        int entered = 0;
        int waits = 0;
        lock (_lock)
        {
            AssertInvariants();
            for (; entered < count; entered++)
            {
                Lane<T> lane = _next[entered];
                long index = chunk.FirstIndex + entered;
                if (!lane.EnterOrWaitNeedsLock(perLane, items[entered], index))
                {
                    _waiting++;
                    waits = 1;
                    break;
                }

                _running.Add(index, lane);
            }
        }

        int done = entered + waits;
        _keyed = count - done;
        Array.Copy(_next, done, _next, 0, _keyed);
        _rest.Clear();
        if (done < chunk.Count)
        {
            Chunk<T> rest = chunk;
            _rest = rest.TakeRest(done);
        }

        Volatile.Write(ref _restAt, _rest.IsEmpty ? NoRest : _rest.FirstIndex);
        if (_mostAtOnce == 1 && entered > 0)
        {
            // Its memory belongs to the inner source.
            chunk.SetSingle(items[0], chunk.FirstIndex);
            return true;
        }

        chunk.Count = entered;
        chunk.Position = 0;
        return entered > 0;
    }

    /// <summary>Gets the keys of the items in order, and finds their lanes. The items before one whose key or lane cannot be determined still run.</summary>
    private void FindLanes(ReadOnlySpan<T> items, long first)
    {
        try
        {
            _lanes.MakeRoom();
            for (; _keyed < items.Length; _keyed++)
            {
                TKey key = keyOf(items[_keyed]);
                if (key is null)
                {
                    throw new InvalidOperationException($"The key of the item at index {first + _keyed} is null.");
                }

                _next[_keyed] = _lanes.Get(key);
            }
        }
        catch (Exception e)
        {
            _keyFailure = ExceptionDispatchInfo.Capture(e);
            if (_keyed == 0)
            {
                throw;
            }
        }
    }

    // A thread that has the turn of the lanes also has the turn of the inner source.
    private static Source<T> WithOneReader(Source<T> source)
    {
        source.Readers = SourceReaders.AreOne;
        return source;
    }

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "Lanes are changed under the lock.");
        Debug.Assert(_waiting >= 0 && _waiting <= _mostWaiting, "Reading stops while as many wait as may.");
    }
}

/// <summary>The items of one key that are out and waiting. Entering it, and leaving it while items wait, needs the lock of all lanes.</summary>
internal sealed class Lane<T>
{
    // The number of items that are out, and a bit for whether some wait. The count can fall without the lock while the bit is not set; all other changes are
    // made under the lock.
    private const int SomeWait = 1 << 30;

    private int _state;
    private Queue<(T Item, long Index)>? _waiting;

    /// <summary>Whether the lane has no items. It stays so while the lock is held.</summary>
    public bool IsIdle => Volatile.Read(ref _state) == 0;

    public IEnumerable<long> Waiting => _waiting?.Select(static item => item.Index) ?? [];

    /// <summary>Lets an item out, or keeps it until another one has left.</summary>
    /// <returns>Whether it is out.</returns>
    public bool EnterOrWaitNeedsLock(int most, T item, long index)
    {
        int state = Volatile.Read(ref _state);
        if (state == 0)
        {
            // There is no item inside that could leave meanwhile.
            Volatile.Write(ref _state, 1);
            return true;
        }

        while (true)
        {
            bool enters = state < most;
            int seen = Interlocked.CompareExchange(ref _state, enters ? state + 1 : state | SomeWait, state);
            if (seen == state)
            {
                if (!enters)
                {
                    (_waiting ??= new()).Enqueue((item, index));
                }

                return enters;
            }

            state = seen;
        }
    }

    /// <summary>An item has ended, and none waits.</summary>
    /// <returns>False if some wait: then the lock is needed.</returns>
    public bool TryLeave()
    {
        int state = Volatile.Read(ref _state);
        while ((state & SomeWait) == 0)
        {
            int seen = Interlocked.CompareExchange(ref _state, state - 1, state);
            if (seen == state)
            {
                return true;
            }

            state = seen;
        }

        return false;
    }

    /// <summary>An item has ended: the next one takes its place, if one waits.</summary>
    /// <returns>Whether there is a next one.</returns>
    public bool LeaveOrNextNeedsLock([MaybeNullWhen(false)] out (T Item, long Index) next)
    {
        next = default;
        if (TryLeave())
        {
            return false;
        }

        next = _waiting!.Dequeue();
        if (_waiting.Count == 0)
        {
            Volatile.Write(ref _state, _state & ~SomeWait);
        }

        return true;
    }
}

/// <summary>
/// The lanes by their keys. Idle lanes stay for a while, because most keys recur: as many as there are busy lanes, plus some dozens. Not thread-safe,
/// except for lanes that become idle meanwhile. Runs the user's hash and equality, which may throw.
/// </summary>
/// <param name="count">The total number of items; -1 if it is not known.</param>
/// <param name="comparer">Compares keys.</param>
internal sealed class LaneTable<T, TKey>(int count, IEqualityComparer<TKey>? comparer)
    where TKey : notnull
{
    private const int FewLanes = 128;
    private const int ManyItems = 1024;

    private readonly Dictionary<TKey, Lane<T>> _lanes = new(count < ManyItems ? 0 : FewLanes, comparer);
    private readonly List<(TKey Key, Lane<T> Lane)> _busy = [];
    private int _sweepAt = FewLanes;

    /// <summary>The indices of the waiting items. A sweep that threw has left the lanes in which some may wait where it had put them.</summary>
    public IEnumerable<long> Waiting =>
        (_busy.Count > 0 ? _busy.Select(static busy => busy.Lane) : _lanes.Values).SelectMany(static lane => lane.Waiting);

    /// <summary>Removes idle lanes if there are many. Not while a caller has a lane that nothing has entered yet.</summary>
    public void MakeRoom()
    {
        if (_lanes.Count >= _sweepAt)
        {
            Sweep();
        }
    }

    public Lane<T> Get(TKey key)
    {
        if (!_lanes.TryGetValue(key, out Lane<T>? lane))
        {
            lane = new Lane<T>();
            _lanes.Add(key, lane);
        }

        return lane;
    }

    private void Sweep()
    {
        foreach ((TKey key, Lane<T> lane) in _lanes)
        {
            if (!lane.IsIdle)
            {
                _busy.Add((key, lane));
            }
        }

        // Most lanes are idle, so clearing the table and adding the few others again costs less than removing them one by one.
        _lanes.Clear();
        foreach ((TKey key, Lane<T> lane) in _busy)
        {
            _lanes.Add(key, lane);
        }

        _busy.Clear();
        _sweepAt = Math.Max(FewLanes, 2 * _lanes.Count);
    }
}

/// <summary>
/// The lanes of the items that are out, by index. Items are added by one thread at a time. Each is taken once, by the thread that ends it, and usually without
/// a lock: indices that are out together are usually close to each other, and each has its own slot.
/// </summary>
/// <param name="count">The total number of items; -1 if it is not known.</param>
internal sealed class RunningLanes<T>(int count)
{
    private const int MostSlots = 128;
    private const long Free = -1;

    private readonly Slot[] _slots = MakeSlots(count);
    private readonly Lock _lock = new();
    private Dictionary<long, Lane<T>>? _others;

    public void Add(long index, Lane<T> lane)
    {
        ref Slot slot = ref _slots[index & (_slots.Length - 1)];
        if (Volatile.Read(ref slot.Index) == Free)
        {
            slot.Lane = lane;
            Volatile.Write(ref slot.Index, index);
            return;
        }

        lock (_lock)
        {
            (_others ??= []).Add(index, lane);
        }
    }

    /// <summary>Takes the lane of an item, which is then no longer out; null if the item is not out, or never was.</summary>
    public Lane<T>? Take(long index)
    {
        ref Slot slot = ref _slots[index & (_slots.Length - 1)];
        if (Volatile.Read(ref slot.Index) == index)
        {
            Lane<T>? lane = slot.Lane;
            Volatile.Write(ref slot.Index, Free);
            return lane;
        }

        lock (_lock)
        {
            return _others is not null && _others.Remove(index, out Lane<T>? lane) ? lane : null;
        }
    }

    private static Slot[] MakeSlots(int count)
    {
        int size = count < 0 ? MostSlots : Math.Min(MostSlots, (int)BitOperations.RoundUpToPowerOf2((uint)Math.Max(1, count)));
        Slot[] slots = new Slot[size];
        foreach (ref Slot slot in slots.AsSpan())
        {
            slot.Index = Free;
        }

        return slots;
    }

    private struct Slot
    {
        public long Index;
        public Lane<T>? Lane;
    }
}
