using System.Buffers;
using System.Collections.Immutable;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Threading.Channels;
using Weir.Core.Metering;

namespace Weir.Core.Sources;

// Where the items of a run come from.
//
// - Items have numbers from 0. A worker claims a chunk of them, and runs each or gives it back. What was given back is claimed first, by any worker.
// - Items in memory (IndexedSource) are claimed by a compare-and-swap of a cursor, in chunks that double up to 256 while they last less than 5 us.
// - Every other sequence is read by whoever has its turn (Turn, TurnSource): a flag, not a lock, so no user code ever runs under a lock. A reader gives up the
//   turn, calls the next reader, and only then runs its item. A worker that finds the turn taken waits some microseconds on its thread, then leaves and is
//   called later. The reader has no item, so it does not count against the limit until it gives up the turn; if there is no room then, it gives back what it
//   has read, and leaves.
// - One item at a time, which begins at once, as long as reading or work takes long. A sequence that gives its items at once is read ahead by some of them
//   where their work is tiny (OneByOneSource). Should it wait nevertheless, the stall watch gives what was read to other workers.
// - A run whose limit is one and stays so (HasOneWorker) leaves nothing for others.

/// <summary>The items of a run as the run itself sees them: whether there are more, and whether they may be read now. It knows them by number only.</summary>
internal abstract class Source
{
    /// <summary>What is left of a source whose items all ran: one shared object, so that a search for gaps sees at once that there are none.</summary>
    public static readonly IEnumerable<(long First, int Count)> NothingLeft = None();

    private volatile bool _hasStash;
    private volatile SourceHold _hold;

    // Created by the first item that is lost.
    private List<(long First, int Count)>? _lost;

    /// <summary>The run's token, which ends waits for the next item. Set before the first claim.</summary>
    public virtual CancellationToken CancellationToken { get; set; }

    /// <summary>How the source is read. Set before the first claim.</summary>
    public SourceReaders Readers { get; set; }

    /// <summary>Whether no more than one worker claims, so that a claim need not leave anything for others. Set before the first claim.</summary>
    public bool HasOneWorker { get; set; }

    /// <summary>The total number of items, or -1 if it is not known before the end.</summary>
    public abstract int KnownCount { get; }

    /// <summary>The index of the next unclaimed item. It only grows.</summary>
    public abstract long NextIndex { get; }

    /// <summary>How many items the source is known to have that were not claimed: the backlog, as a meter shows it. Runs no user code.</summary>
    public virtual long Unread => Math.Max(0, KnownCount - NextIndex);

    /// <summary>How many items are in the batches that have ended, if what the source gives out are batches; otherwise null.</summary>
    public virtual BatchTally? Tally => null;

    /// <summary>How many items were read and wait for others of their key.</summary>
    public virtual int WaitingForKeys => 0;

    /// <summary>Whether one worker at a time reads the source, so that a claim takes a turn.</summary>
    public virtual bool TakesTurns => false;

    /// <summary>Whether items were given back for any worker to claim, without a turn.</summary>
    public bool HasStash
    {
        get => _hasStash;
        protected set => _hasStash = value;
    }

    /// <summary>Whether a worker has the turn to read. It has no item, so it does not count against the limit of the run.</summary>
    public virtual bool HasReader => false;

    /// <summary>Whether one worker is reading the source, and there is nothing else for others to claim at this moment.</summary>
    public bool IsBusy => TakesTurns && IsTurnTaken && !_hasStash;

    /// <summary>
    /// Whether a worker is reading at this moment, so that a short wait is worthwhile. Otherwise a busy source stays busy until an item ends.
    /// </summary>
    public virtual bool IsReading => IsTurnTaken;

    protected virtual bool IsTurnTaken => false;

    /// <summary>Whether there is nothing to claim now. An item given back makes this false again.</summary>
    public bool IsExhausted => !_hasStash && (IsHeld ? IsStopped || (IsDrained && !HasHeld) : IsDrained);

    /// <summary>Whether a claim may find something. More exact than <see cref="IsExhausted"/>, which some sources learn only from a final read.</summary>
    public bool MayHaveMore => _hasStash || !(IsDrained || (KnownCount >= 0 && NextIndex >= KnownCount));

    /// <summary>Whether items are held back that were given back and have not begun.</summary>
    protected abstract bool HasHeld { get; }

    /// <summary>Whether what was read still begins after a stop, because it is part of something. Then the stop is like an end of the sequence.</summary>
    public virtual bool BeginsWhatWasRead => false;

    /// <summary>Whether nothing is read for now, or for good.</summary>
    protected bool IsHeld => HasOrder && !(IsStopped && BeginsWhatWasRead);

    protected bool IsStopped => _hold == SourceHold.Stopped;

    /// <summary>Whether the source was told to pause or to stop.</summary>
    protected bool HasOrder => _hold != SourceHold.None;

    /// <summary>Whether the underlying sequence has no more items, apart from those given back.</summary>
    protected abstract bool IsDrained { get; }

    /// <summary>Determines whether items that have not begun may be claimed. A worker that is reading now may still read one, and then gives it back.</summary>
    public abstract void Hold(SourceHold hold);

    /// <summary>
    /// Called by the stall watch at each look. If a reader has been inside the sequence since the last look, gives to other workers what it has read before.
    /// </summary>
    /// <returns>Whether there are now more items to claim.</returns>
    public virtual bool ShareIfStuck() => false;

    /// <summary>The run has ended, and every item that began has its outcome. Called once.</summary>
    public virtual void Close()
    {
    }

    /// <summary>Ends the user's sequence. Called once, when no worker is left.</summary>
    public virtual ValueTask DisposeAsync() => default;

    /// <summary>
    /// Records that no worker will run items that were claimed: their claim threw after it had moved past them, or their run has stopped before their call.
    /// </summary>
    public void Lose(long first, int count)
    {
        List<(long First, int Count)> lost = Volatile.Read(ref _lost) ?? Interlocked.CompareExchange(ref _lost, [], null) ?? _lost;
        lock (lost)
        {
            lost.Add((first, count));
        }
    }

    /// <summary>Sets what <see cref="Hold"/> was told.</summary>
    protected void SetHold(SourceHold hold) => _hold = hold;

    /// <summary>The index ranges of the items that were lost; null if there are none.</summary>
    protected IEnumerable<(long First, int Count)>? Lost => _lost;

    // Not an empty array, whose code is .NET's for a type that it does not know, and so compiled in every process.
    private static IEnumerable<(long First, int Count)> None()
    {
        yield break;
    }
}

/// <summary>
/// Provides the items of a run, as numbered items that workers claim in chunks. Claiming is thread-safe;
/// each item is handed out exactly once.
/// </summary>
internal abstract class Source<T> : Source
{
    // Created by the first give-back: a run whose items all complete synchronously never has one.
    private GivenBack? _stash;

    /// <summary>The source itself, or the one below it, if its items are in memory by index.</summary>
    public virtual IndexedSource<T>? InMemory => null;

    /// <summary>Who keeps the items that are read; null for nobody. Set before the first claim.</summary>
    public virtual IItemKeeper<T>? Keeper { get; set; }

    /// <summary>Claims up to <paramref name="max"/> items whose index is below <paramref name="ceiling"/>.</summary>
    /// <exception cref="Exception">Any exception from the user's sequence; the source is then drained.</exception>
    public ClaimResult TryClaim(ref Chunk<T> chunk, int max, long ceiling)
    {
        while (true)
        {
            if (HasStash && TryTakeStashed(ref chunk))
            {
                return ClaimResult.Claimed;
            }

            if (IsHeld)
            {
                return IsStopped ? ClaimResult.Empty : ClaimResult.Paused;
            }

            ClaimResult result = TryClaimNext(ref chunk, max, ceiling);
            if (result != ClaimResult.Stashed)
            {
                return result;
            }
        }
    }

    /// <summary>
    /// An item that the run did not come to, where that can be told without waiting; otherwise the default value. Asked after the end.
    /// </summary>
    public virtual T? UnreadAt(long index) => default;

    /// <summary>Calls back once when a pending claim can be finished. Only for the worker whose claim is pending.</summary>
    public virtual void OnReady(Action continuation) => throw new UnreachableException();

    /// <summary>Finishes a pending claim, and gives back the turn unless the claim is pending again.</summary>
    public virtual ClaimResult FinishClaim(ref Chunk<T> chunk) => throw new UnreachableException();

    /// <summary>Gives back items that the worker will not run itself.</summary>
    public void GiveBack(in Chunk<T> rest)
    {
        if (rest.Count == 0)
        {
            return;
        }

        GivenBack stash = Stash();
        lock (stash)
        {
            stash.Add(rest);
            HasStash |= !IsHeld || rest.Repetition is not null;
        }

        // A thread that next checks whether there are workers for the items, or which thread has the turn, does so after the items have become visible.
        Interlocked.MemoryBarrier();
    }

    public override void Hold(SourceHold hold)
    {
        GivenBack stash = Stash();
        lock (stash)
        {
            SetHold(hold);
            stash.SortNew();
            HasStash = HasAny(stash);
        }

        Interlocked.MemoryBarrier();
    }

    /// <summary>Tells the source that a worker has finished a chunk, so that it can reuse the chunk's memory.</summary>
    public virtual void Release(ref Chunk<T> chunk) => chunk.Clear();

    /// <summary>
    /// The index ranges, in order, of the items that were claimed and given back, or lost. For the end of a stopped run.
    /// </summary>
    /// <returns><see cref="Source.NothingLeft"/> itself at the end of nearly all runs.</returns>
    public virtual IEnumerable<(long First, int Count)> LeftOver() => !HasStash && !HasHeld && Lost is null ? NothingLeft : StashedAndLost();

    /// <summary>
    /// Removes the items that came back for another attempt and never got it. They were attempted, so they must not count as items that never ran. For the end
    /// of a stopped run.
    /// </summary>
    /// <returns>Their indices.</returns>
    public IReadOnlyList<long> TakeAttempted()
    {
        if (_stash is not { } stash)
        {
            return [];
        }

        lock (stash)
        {
            return stash.TakeAttempted();
        }
    }

    protected override bool HasHeld => IsHeld && Volatile.Read(ref _stash) is { HasNew: true };

    protected abstract ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling);

    /// <summary>Ends a claim of the reader that has the turn.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    protected static ClaimResult LeaveTurn(ref Turn turn, ClaimResult result)
    {
        if (result == ClaimResult.Pending)
        {
            turn.Wait();
        }
        else
        {
            turn.GiveUp();
        }

        return result;
    }

    // Separate, so that the first run of a process does not compile it.
    private IEnumerable<(long First, int Count)> StashedAndLost() =>
        (_stash?.All ?? []).Select(static c => (c.FirstIndex, c.Count)).Concat(Lost ?? []).Order();

    private bool HasAny(GivenBack stash) => stash.HasWaited || (stash.HasNew && !IsHeld);

    private GivenBack Stash()
    {
        if (Volatile.Read(ref _stash) is { } stash)
        {
            return stash;
        }

        GivenBack made = new();
        return Interlocked.CompareExchange(ref _stash, made, null) ?? made;
    }

    private bool TryTakeStashed(ref Chunk<T> chunk)
    {
        GivenBack stash = _stash!;
        lock (stash)
        {
            bool taken = stash.TryTake(ref chunk, newToo: !IsHeld);
            HasStash = HasAny(stash);
            return taken;
        }
    }

    /// <summary>
    /// The items of a source that were given back, for any worker to claim. First those that have waited, the one that has waited longest before the others, in
    /// whatever order they came back: several threads may bring them. Then those that have not begun, in the order in which they came back.
    /// </summary>
    /// <remarks>Guarded by itself, apart from <see cref="HasNew"/>.</remarks>
    private sealed class GivenBack
    {
        // A ring.
        private Chunk<T>[] _new = [];
        private int _first;
        private int _count;

        // Created by the first item that has waited.
        private PriorityQueue<Chunk<T>, (long Since, long Index)>? _waited;

        /// <summary>Whether there are items that have not begun.</summary>
        public bool HasNew => Volatile.Read(ref _count) > 0;

        /// <summary>Whether there are items that have waited.</summary>
        public bool HasWaited => _waited is { Count: > 0 };

        /// <summary>All chunks, in no order.</summary>
        public IEnumerable<Chunk<T>> All => (_waited?.UnorderedItems.Select(static waited => waited.Element) ?? []).Concat(New);

        private IEnumerable<Chunk<T>> New => Enumerable.Range(0, _count).Select(position => At(position));

        public void Add(in Chunk<T> chunk)
        {
            if (chunk.Repetition is { } repetition)
            {
                (_waited ??= new()).Enqueue(chunk, (repetition.First, chunk.FirstIndex));
                return;
            }

            if (_count == _new.Length)
            {
                Chunk<T>[] more = new Chunk<T>[Math.Max(4, 2 * _count)];
                int toEnd = _count - _first;
                Array.Copy(_new, _first, more, 0, toEnd);
                Array.Copy(_new, 0, more, toEnd, _first);
                (_new, _first) = (more, 0);
            }

            _new[(_first + _count) & (_new.Length - 1)] = chunk;
            _count++;
        }

        /// <summary>Takes the next item alone: those that were given back have a neighbour that takes long.</summary>
        /// <param name="chunk">The item.</param>
        /// <param name="newToo">Whether also one that has not begun.</param>
        /// <returns>False if there is none.</returns>
        /// <exception cref="InvalidOperationException">The caller's list was changed. The item stays.</exception>
        public bool TryTake(ref Chunk<T> chunk, bool newToo)
        {
            if (_waited is { Count: > 0 } waited)
            {
                chunk = waited.Dequeue();
                return true;
            }

            if (!newToo || _count == 0)
            {
                return false;
            }

            ref Chunk<T> first = ref _new[_first];
            chunk.SetSingle(first.Items[0], first.FirstIndex);
            if (first.Count > 1)
            {
                first = first.TakeRest(1);
            }
            else
            {
                first = default;
                _first = (_first + 1) & (_new.Length - 1);
                _count--;
            }

            return true;
        }

        /// <summary>Puts the items that have not begun in the order of the source.</summary>
        public void SortNew()
        {
            Chunk<T>[] all = [.. New.OrderBy(static chunk => chunk.FirstIndex)];
            for (int i = 0; i < all.Length; i++)
            {
                At(i) = all[i];
            }
        }

        /// <summary>Removes the items that were attempted.</summary>
        /// <returns>Their indices.</returns>
        public List<long> TakeAttempted()
        {
            List<long> attempted = [];
            if (_waited is { } waited)
            {
                Chunk<T>[] all = [.. waited.UnorderedItems.Select(static item => item.Element)];
                waited.Clear();
                foreach (Chunk<T> chunk in all)
                {
                    if (chunk.Repetition!.Attempts > 0)
                    {
                        attempted.Add(chunk.FirstIndex);
                    }
                    else
                    {
                        Add(chunk);
                    }
                }
            }

            return attempted;
        }

        private ref Chunk<T> At(int position) => ref _new[(_first + position) & (_new.Length - 1)];
    }
}

/// <summary>
/// Items with consecutive indices that one worker has claimed. The items are in an array, in a list (both the
/// caller's own, not copied), or are one single item.
/// </summary>
[StructLayout(LayoutKind.Auto)]
internal struct Chunk<T>
{
    private object? _store;
    private T? _single;
    private int _offset;

    /// <summary>How many of the items have run; the next one to run is at this position.</summary>
    public int Position;

    /// <summary>How many items the chunk has.</summary>
    public int Count;

    /// <summary>The index in the source of the item at position 0.</summary>
    public long FirstIndex;

    /// <summary>The data of a single item that comes back for another attempt; null for items that come for the first time.</summary>
    public Repetition? Repetition;

    public readonly bool IsEmpty => Position >= Count;

    /// <summary>The array of the chunk, if it is in one. The source gets it back for reuse.</summary>
    public readonly T[]? Array => _store as T[];

    public void SetArray(T[] array, int offset, int count, long firstIndex)
    {
        _store = array;
        Set(offset, count, firstIndex);
    }

    public void SetList(List<T> list, int offset, int count)
    {
        _store = list;
        Set(offset, count, offset);
    }

    public void SetSingle(T item, long index, Repetition? repetition = null)
    {
        _store = null;
        _single = item;
        Set(0, 1, index);
        Repetition = repetition;
    }

    /// <summary>
    /// All items of the chunk, including those that have run. Valid only while the caller's list does not change, so not across a suspension.
    /// </summary>
    [System.Diagnostics.CodeAnalysis.UnscopedRef]
    public readonly ReadOnlySpan<T> Items
    {
        get
        {
            object? store = _store;
            if (store is null)
            {
                return new ReadOnlySpan<T>(in _single!);
            }

            if (store.GetType() == typeof(List<T>))
            {
                return ListItems((List<T>)store);
            }

            // A reference array may be a covariant one (string[] as object[]), which only a read-only span accepts.
            return new ReadOnlySpan<T>(System.Runtime.CompilerServices.Unsafe.As<T[]>(store), _offset, Count);
        }
    }

    /// <summary>Moves the items from a position on into a new chunk, which then owns the array. This chunk is then finished.</summary>
    public Chunk<T> TakeRest(int from)
    {
        Chunk<T> rest = this;
        rest._offset += from;
        rest.FirstIndex += from;
        rest.Count -= from;
        rest.Position = 0;
        Clear();
        return rest;
    }

    /// <summary>Forgets the items, so that a waiting worker keeps none of them alive.</summary>
    public void Clear()
    {
        _store = null;
        _single = default;
        Repetition = null;
        Position = 0;
        Count = 0;
    }

    private void Set(int offset, int count, long firstIndex)
    {
        _offset = offset;
        Repetition = null;
        Position = 0;
        Count = count;
        FirstIndex = firstIndex;
    }

    private readonly ReadOnlySpan<T> ListItems(List<T> list)
    {
        ReadOnlySpan<T> all = CollectionsMarshal.AsSpan(list);
        return all.Length >= _offset + Count
            ? all.Slice(_offset, Count)
            : throw new InvalidOperationException("The source list was changed while the run was reading it.");
    }
}

/// <summary>The result of an attempt to claim items from a <see cref="Source{T}"/>.</summary>
internal enum ClaimResult
{
    /// <summary>The chunk holds at least one item.</summary>
    Claimed,

    /// <summary>There is nothing more to claim (an item given back later can change that).</summary>
    Empty,

    /// <summary>Another worker is reading the source. It will continue to read, so this one need not wait for its turn.</summary>
    Busy,

    /// <summary>The next item lies at or beyond the ceiling: the consumer of the results has to catch up first.</summary>
    Throttled,

    /// <summary>The source is waiting for its next item. The caller has the turn, and must call OnReady and then FinishClaim.</summary>
    Pending,

    /// <summary>Items were given back while the turn was taken: they come first.</summary>
    Stashed,

    /// <summary>Nothing that has not begun may be claimed for now.</summary>
    Paused,
}

/// <summary>Whether items that have not begun may be claimed. Those that come back for another attempt always may.</summary>
internal enum SourceHold : byte
{
    None = 0,

    /// <summary>Not for now.</summary>
    Paused,

    /// <summary>Never again.</summary>
    Stopped,
}

/// <summary>Who reads a source.</summary>
internal enum SourceReaders : byte
{
    /// <summary>Workers, which take turns.</summary>
    TakeTurns = 0,

    /// <summary>Workers, which may read more than one item before they run the first: another worker can come for these if the sequence waits.</summary>
    MayReadAhead,

    /// <summary>Other code ensures that one worker at a time reads this source, so that the source need not.</summary>
    AreOne,
}

/// <summary>What an item brings along that waits, and then comes back for its next attempt or for the one that could not begin.</summary>
/// <param name="last">What it brought along before; null for one that came for the first time.</param>
/// <param name="kind">What it waits for. Only one that waits for its next attempt has made a call.</param>
/// <param name="delay">How long at most; null for as long as it takes, with the item's clock stopped.</param>
/// <param name="deadline">When the item's own time limit passes, as a timestamp of the run's clock; <see cref="long.MaxValue"/> for never.</param>
/// <param name="now">When it begins to wait.</param>
internal sealed class Repetition(Repetition? last, WaitKind kind, TimeSpan? delay, long deadline, long now)
{
    // Of an item whose clock stands still, the time that is left.
    private readonly long _deadline = delay is null && deadline != long.MaxValue ? Math.Max(0, deadline - now) : deadline;
    private readonly bool _stopped = delay is null;

    /// <summary>How many attempts were made.</summary>
    public int Attempts { get; } = (last?.Attempts ?? 0) + (kind == WaitKind.Retry ? 1 : 0);

    /// <summary>The delay before the attempt that follows.</summary>
    public TimeSpan Delay { get; } = delay ?? last?.Delay ?? TimeSpan.Zero;

    public WaitKind Kind => kind;

    /// <summary>When it began to wait, as a timestamp of the run's clock.</summary>
    public long Since { get; } = now;

    /// <summary>
    /// When it began to wait for this, counting the waits right before it: an item that finds its circuit open again each time waits once, and long. After a
    /// call it waits anew.
    /// </summary>
    public long First { get; } = kind != WaitKind.Retry && last?.Kind == kind ? last.First : now;

    /// <summary>When the item's own time limit passes, for an attempt that begins at a given time.</summary>
    public long DeadlineAt(long start) => _stopped && _deadline != long.MaxValue ? start + _deadline : _deadline;
}

/// <summary>Gets each item that a source reads, before any worker has it. One thread at a time calls it.</summary>
internal interface IItemKeeper<in T>
{
    void Add(long index, T item);
}

/// <summary>A sequence that runs do not enumerate, because they have to tell its source more than that they want the next item.</summary>
internal interface IReadAsSource<T>
{
    Source<T> MakeSource();
}

/// <summary>
/// A source that must know when an item has ended: of lanes, so that the next item of its lane can start; of batches, to count what is in them. And what notes
/// which items are done.
/// </summary>
internal interface ILanes
{
    void ItemEnded(long index, ItemEnd end = ItemEnd.Succeeded);
}

/// <summary>How an item has ended, as a source needs to know it.</summary>
internal enum ItemEnd : byte
{
    /// <summary>With a result.</summary>
    Succeeded,

    /// <summary>It failed or timed out.</summary>
    Failed,

    /// <summary>The run was stopped.</summary>
    Cancelled,
}

/// <summary>Items that are in memory by index. Workers share only a cursor.</summary>
internal abstract class IndexedSource<T>(int count) : Source<T>
{
    // Written once per chunk, which is rare while items are tiny. Padding would cost each run more in bytes than it saves in time.
    private int _next;

    public sealed override IndexedSource<T>? InMemory => this;

    public sealed override int KnownCount => count;

    public sealed override long NextIndex => Volatile.Read(ref _next);

    protected sealed override bool IsDrained => Volatile.Read(ref _next) >= count;

    protected sealed override ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling)
    {
        int next = Volatile.Read(ref _next);
        while (true)
        {
            if (next >= count)
            {
                return ClaimResult.Empty;
            }

            long room = Math.Min(ceiling, count) - next;
            if (room <= 0)
            {
                return ClaimResult.Throttled;
            }

            // Towards the end, each claim takes at most an eighth of what is left, so that workers end together.
            int take = (int)Math.Min(Math.Min(room, max), HasOneWorker ? max : Math.Max(1, (count - next) >> 3));
            int seen = Interlocked.CompareExchange(ref _next, next + take, next);
            if (seen == next)
            {
                try
                {
                    Fill(ref chunk, next, take);
                }
                catch
                {
                    Lose(next, take);
                    throw;
                }

                return ClaimResult.Claimed;
            }

            next = seen;
        }
    }

    /// <summary>The item at an index, or nothing if the caller has changed the list meanwhile.</summary>
    public virtual T? At(long index)
    {
        try
        {
            Chunk<T> chunk = default;
            Fill(ref chunk, (int)index, 1);
            return chunk.Items[0];
        }
        catch (InvalidOperationException)
        {
            return default;
        }
    }

    protected abstract void Fill(ref Chunk<T> chunk, int first, int count);
}

/// <summary>The items of an array or of a part of one, read in place.</summary>
internal sealed class ArraySource<T>(T[] array, int offset, int count) : IndexedSource<T>(count)
{
    public override T? At(long index) => array[offset + index];

    protected override void Fill(ref Chunk<T> chunk, int first, int count) => chunk.SetArray(array, offset + first, count, first);
}

/// <summary>The items of a list, read in place. A list that changes length during the run fails the run.</summary>
internal sealed class ListSource<T>(List<T> list) : IndexedSource<T>(list.Count)
{
    public override T? At(long index)
    {
        ReadOnlySpan<T> items = CollectionsMarshal.AsSpan(list);
        return index < items.Length ? items[(int)index] : default;
    }

    protected override void Fill(ref Chunk<T> chunk, int first, int count)
    {
        if (list.Count != KnownCount)
        {
            throw new InvalidOperationException("The source list was changed while the run was reading it.");
        }

        chunk.SetList(list, first, count);
    }
}

/// <summary>
/// The right to advance a sequence. It is a flag, not a lock, so that no thread ever waits for it and the user's sequence runs under no lock.
/// </summary>
/// <remarks>
/// <para>
/// A reader may wait for long, for a silent channel or a slow query, and has no item meanwhile. So it does not count against the limit of its run: another
/// worker may come for items that need no turn. A reader that has given up the turn counts again, and looks whether there is room for what it has read.
/// </para>
/// <para>
/// All changes are atomic and full fences: a thread that gives up the turn then sees everything that was given back before, and every worker that came because
/// it had the turn, and vice versa.
/// </para>
/// </remarks>
internal struct Turn
{
    private const int Free = 0;
    private const int Taken = 1;

    /// <summary>The reader waits for the sequence without a thread.</summary>
    private const int Waiting = 2;

    private int _state;

    public readonly bool IsTaken => Volatile.Read(in _state) != Free;

    /// <summary>Whether a thread is inside the sequence, so that a short wait may be worthwhile.</summary>
    public readonly bool IsReading => Volatile.Read(in _state) == Taken;

    public bool TryTake() => Interlocked.CompareExchange(ref _state, Taken, Free) == Free;

    public void GiveUp() => Interlocked.Exchange(ref _state, Free);

    /// <summary>The reader leaves its thread, and comes back when the sequence has its next item.</summary>
    public void Wait() => Interlocked.Exchange(ref _state, Waiting);
}

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
            return Leave(FinishAdvance(ref chunk, _next), chunk);
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

        if (Readers != SourceReaders.AreOne && !_turn.TryTake())
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
            return Leave(Advance(ref chunk, (int)Math.Min(max, ceiling - _next), _next), chunk);
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

    /// <summary>Counts items that were read, before the end of the claim. Only for the holder of the turn.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    protected void Count(long next) => Volatile.Write(ref _next, next);

    private ClaimResult Leave(ClaimResult result, in Chunk<T> chunk)
    {
        if (result == ClaimResult.Claimed)
        {
            _next = chunk.FirstIndex + chunk.Count;
        }
        else if (result is not (ClaimResult.Pending or ClaimResult.Paused))
        {
            _drained = true;
        }

        return Readers == SourceReaders.AreOne ? result : LeaveTurn(ref _turn, result);
    }

    private void GiveUpTurn()
    {
        if (Readers != SourceReaders.AreOne)
        {
            _turn.GiveUp();
        }
    }
}

/// <summary>
/// A sequence whose next step may run user code or wait. It is read one item at a time, and each item starts at once, unless all of it is tiny: then some items
/// are read ahead (<see cref="ReadAhead"/>).
/// </summary>
internal abstract class OneByOneSource<T> : TurnSource<T>
{
    // Created by the reader that has the turn, once a claim wants several items.
    private ReadAhead? _ahead;

    public sealed override int KnownCount => -1;

    /// <summary>Whether nothing is lost that was read and does not begin, so that the sequence may be read ahead.</summary>
    protected virtual bool CanReadAhead => false;

    /// <summary>Whether the reader that has given up the turn has left a step that is still under way. After the end of the run.</summary>
    protected bool HasStepUnderWay => _ahead is { Last: ClaimResult.Pending };

    public sealed override bool ShareIfStuck()
    {
        if (Volatile.Read(ref _ahead) is not { } ahead || !ahead.TryTake(this, out Chunk<T> chunk))
        {
            return false;
        }

        GiveBack(chunk);
        return true;
    }

    public sealed override void Release(ref Chunk<T> chunk) => RentedArray.Return(ref chunk);

    protected sealed override ClaimResult Advance(ref Chunk<T> chunk, int max, long index)
    {
        ReadAhead? ahead = _ahead;
        if (ahead is null)
        {
            if (max < ReadAhead.Least || Readers != SourceReaders.MayReadAhead || !CanReadAhead)
            {
                return Set(ref chunk, Step(out T? item), item, index);
            }

            Volatile.Write(ref _ahead, ahead = new ReadAhead());
        }

        if (ahead.Last != ClaimResult.Claimed)
        {
            return ahead.TakeLast();
        }

        if (max == 1)
        {
            return Set(ref chunk, Step(out T? item), item, index);
        }

        if (ahead.IsQuick)
        {
            return ahead.Read(this, ref chunk, max, index);
        }

        long began = Stopwatch.GetTimestamp();
        ClaimResult result = Set(ref chunk, Step(out T? next), next, index);
        ahead.ReadOne(Stopwatch.GetTimestamp() - began);
        return result;
    }

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
            if (chunk.Array is { } buffer)
            {
                // So that the worker has it for the next claim.
                buffer[0] = item!;
                chunk.SetArray(buffer, 0, 1, index);
            }
            else
            {
                chunk.SetSingle(item!, index);
            }
        }

        return result;
    }

    /// <summary>
    /// Reads several items into the reader's chunk, while the sequence gives them within a microsecond each. What the last step found instead of an item - the end,
    /// a wait, an exception - is kept for the next claim, because the items before it may begin.
    /// </summary>
    /// <remarks>
    /// <para>
    /// No item may wait for good because the sequence waits: it may wait for just that item. The reader stores each item and then counts it (NextIndex). If the
    /// watch finds the same reading open at two looks, it copies what was counted, and takes it by a compare-and-swap of the word, which says which reading it
    /// is, how many of its items were taken, and whether it is over. So the copy is that of items that nobody else takes: the reader ends its reading by the
    /// same word, and runs only what is behind the taken ones. Without the number of the reading, the watch could take items of an earlier one, which have run.
    /// A reader whose items were taken reads no further.
    /// </para>
    /// <para>All fields but the word and what the watch has seen are written by the holder of the turn only.</para>
    /// </remarks>
    private sealed class ReadAhead
    {
        /// <summary>How many items the first such claim must want: then reading and work are known to take less than a microsecond an item.</summary>
        public const int Least = 16;

        // The word: the number of the reading, then one bit that says that it is over, then how many of its items were taken.
        private const long Reading = 1024;
        private const long Over = 512;

        // How many quick reads one after the other it takes before the first of several, and how many again after a wait.
        private const int QuickReads = 8;
        private const int QuickReadsAfterWait = 64;
        private const int QuickReadsAfterSharing = 4_096;
        private const int MostQuickReads = 1 << 20;

        private static readonly long Quick = Math.Max(1, Stopwatch.Frequency / 1_000_000);
        private static readonly long Waits = Stopwatch.Frequency / 25_000;

        private ExceptionDispatchInfo? _failure;
        private int _missing = QuickReads;
        private int _again = QuickReadsAfterWait;

        // Read by the watch, for the reading that the word names.
        private T[] _buffer = [];
        private long _first;

        // Atomic.
        private long _word = Over;

        // Of the watch.
        private long _seen;

        /// <summary>What the last step of the sequence found, if no claim has returned it yet; otherwise Claimed.</summary>
        public ClaimResult Last { get; private set; } = ClaimResult.Claimed;

        /// <summary>Whether the sequence has given its last items at once.</summary>
        public bool IsQuick => _missing <= 0;

        /// <summary>Notes how long it took to read one item.</summary>
        public void ReadOne(long took) => _missing = took <= Quick ? _missing - 1 : Math.Max(_missing, QuickReads);

        /// <summary>What the last step found.</summary>
        /// <exception cref="Exception">What the sequence threw.</exception>
        public ClaimResult TakeLast()
        {
            _failure?.Throw();
            ClaimResult last = Last;
            Last = ClaimResult.Claimed;
            return last;
        }

        /// <summary>Reads up to <paramref name="max"/> items.</summary>
        public ClaimResult Read(OneByOneSource<T> source, ref Chunk<T> chunk, int max, long index)
        {
            T[] buffer = RentedArray.ForChunk(ref chunk, max, index);
            CancellationToken stop = source.CancellationToken;
            long word = Open(buffer, index);
            long began = Stopwatch.GetTimestamp();
            int read = 0;
            try
            {
                do
                {
                    ClaimResult step = source.Step(out T? item);
                    if (step != ClaimResult.Claimed)
                    {
                        Last = step;
                        break;
                    }

                    source.Keeper?.Add(index + read, item!);
                    buffer[read++] = item!;
                    source.Count(index + read);
                }
                while (read < max && Volatile.Read(ref _word) == word && !stop.IsCancellationRequested);
            }
            catch (Exception e)
            {
                Last = ClaimResult.Empty;
                _failure = ExceptionDispatchInfo.Capture(e);
            }

            int taken = (int)(Interlocked.Or(ref _word, Over) & (Over - 1));
            if (taken > 0)
            {
                WaitedFor(QuickReadsAfterSharing);
            }
            else if (Stopwatch.GetTimestamp() - began > Waits)
            {
                WaitedFor(QuickReadsAfterWait);
            }

            chunk.SetArray(buffer, taken, read - taken, index + taken);
            return read > taken ? ClaimResult.Claimed : TakeLast();
        }

        /// <summary>Takes what a reader has read that has been inside the sequence since the last look. For the watch, whose looks do not overlap.</summary>
        public bool TryTake(OneByOneSource<T> source, out Chunk<T> chunk)
        {
            chunk = default;
            long word = Volatile.Read(ref _word);
            long number = word & ~(Reading - 1);
            bool isNew = number != _seen;
            _seen = number;
            if (isNew || (word & Over) != 0)
            {
                return false;
            }

            int taken = (int)(word & (Over - 1));
            long first = Volatile.Read(ref _first) + taken;
            T[] buffer = Volatile.Read(ref _buffer);
            long count = source.NextIndex - first;
            if (count <= 0 || taken + count > buffer.Length)
            {
                // The second is of a later reading.
                return false;
            }

            T[] copy = buffer.AsSpan(taken, (int)count).ToArray();
            if (Interlocked.CompareExchange(ref _word, word + count, word) != word)
            {
                return false;
            }

            chunk.SetArray(copy, 0, copy.Length, first);
            return true;
        }

        private long Open(T[] buffer, long index)
        {
            _buffer = buffer;
            _first = index;
            long word = (_word | (Reading - 1)) + 1;
            Volatile.Write(ref _word, word);
            return word;
        }

        private void WaitedFor(int least)
        {
            _missing = Math.Max(_again, least);
            _again = Math.Min(MostQuickReads, _missing * 2);
        }
    }
}

/// <summary>A sequence whose MoveNext may run user code or block.</summary>
internal sealed class LazySource<T>(IEnumerable<T> items) : OneByOneSource<T>
{
    private IEnumerator<T>? _enumerator;

    // What takes items out of a collection that others fill would lose those that do not begin.
    protected override bool CanReadAhead => items.GetType().Namespace != "System.Collections.Concurrent";

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Step(out T? item)
    {
        IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
        if (!enumerator.MoveNext())
        {
            item = default;
            return ClaimResult.Empty;
        }

        item = enumerator.Current;
        return ClaimResult.Claimed;
    }
}

/// <summary>An asynchronous sequence.</summary>
internal sealed class AsyncSource<T>(IAsyncEnumerable<T> items) : OneByOneSource<T>
{
    private IAsyncEnumerator<T>? _enumerator;

    // Written only if the sequence does not complete synchronously, so that the common case needs no write barrier.
    private ValueTask<bool> _moving;

    // What reads a channel would lose the items that do not begin.
    protected override bool CanReadAhead => items.GetType().Namespace != "System.Threading.Channels";

    public override void OnReady(Action continuation) => _moving.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public override ValueTask DisposeAsync() => _enumerator is null ? default : HasStepUnderWay ? FinishAndDispose(_enumerator) : _enumerator.DisposeAsync();

    protected override ClaimResult Step(out T? item)
    {
        IAsyncEnumerator<T> enumerator = _enumerator ??= items.GetAsyncEnumerator(CancellationToken);
        ValueTask<bool> moving = enumerator.MoveNextAsync();
        if (!moving.IsCompleted)
        {
            _moving = moving;
            item = default;
            return ClaimResult.Pending;
        }

        return Take(moving.GetAwaiter().GetResult(), out item);
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishStep(out T? item)
    {
        ValueTask<bool> moving = _moving;
        _moving = default;
        return Take(moving.GetAwaiter().GetResult(), out item);
    }

    // A sequence may not be disposed of during a step. The run's token has told it to end.
    private async ValueTask FinishAndDispose(IAsyncEnumerator<T> enumerator)
    {
        try
        {
            await _moving.ConfigureAwait(false);
        }
        catch (Exception)
        {
            // The run is over, so nobody reads on.
        }

        await enumerator.DisposeAsync().ConfigureAwait(false);
    }

    private ClaimResult Take(bool moved, out T? item)
    {
        item = moved ? _enumerator!.Current : default;
        return moved ? ClaimResult.Claimed : ClaimResult.Empty;
    }
}

/// <summary>A source that somebody fills: a step takes an item that is there, or waits until there are more, and then tries again.</summary>
internal abstract class FilledSource<T> : OneByOneSource<T>
{
    private ValueTask<bool> _more;

    public sealed override void OnReady(Action continuation) => _more.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    /// <summary>Ends a step that has to wait.</summary>
    /// <param name="more">Whether there are more items, once it is known.</param>
    protected ClaimResult Await(ValueTask<bool> more)
    {
        _more = more;
        return ClaimResult.Pending;
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected sealed override ClaimResult FinishStep(out T? item)
    {
        ValueTask<bool> more = _more;
        _more = default;
        bool hasMore = more.GetAwaiter().GetResult();
        if (hasMore && !IsHeld)
        {
            return Step(out item);
        }

        // While nothing may begin, the item stays where it is.
        item = default;
        return hasMore ? ClaimResult.Paused : ClaimResult.Empty;
    }
}

/// <summary>
/// The items of a channel. One worker at a time reads, because the channel may have been created for a single reader.
/// </summary>
internal sealed class ChannelSource<T>(ChannelReader<T> reader) : FilledSource<T>
{
    protected override ClaimResult Step(out T? item)
    {
        while (!reader.TryRead(out item))
        {
            ValueTask<bool> more = reader.WaitToReadAsync(CancellationToken);
            if (!more.IsCompleted)
            {
                return Await(more);
            }

            if (!more.GetAwaiter().GetResult())
            {
                return ClaimResult.Empty;
            }
        }

        return ClaimResult.Claimed;
    }
}

/// <summary>The array of a worker's chunk, for sources whose items are copied into it.</summary>
internal static class RentedArray
{
    /// <summary>The array of the chunk, or a larger one.</summary>
    public static T[] ForChunk<T>(ref Chunk<T> chunk, int count, long index)
    {
        if (chunk.Array is { } buffer && buffer.Length >= count)
        {
            return buffer;
        }

        Return(ref chunk);
        buffer = ArrayPool<T>.Shared.Rent(count);
        chunk.SetArray(buffer, 0, 0, index);
        return buffer;
    }

    /// <summary>Returns the array of a chunk that has run, if it has one.</summary>
    public static void Return<T>(ref Chunk<T> chunk)
    {
        if (chunk.Array is { } buffer)
        {
            ArrayPool<T>.Shared.Return(buffer, clearArray: RuntimeHelpers.IsReferenceOrContainsReferences<T>());
        }

        chunk.Clear();
    }
}

/// <summary>
/// A materialised collection without an index (a set, a queue, a range). Its items already exist, so reading a chunk of them
/// makes no item wait. Each worker reads into a small buffer of its own, never the whole collection.
/// </summary>
internal sealed class CollectionSource<T>(IEnumerable<T> items, int count) : TurnSource<T>
{
    private IEnumerator<T>? _enumerator;

    private List<T>? _unread;

    public override int KnownCount => count;

    public override void Release(ref Chunk<T> chunk) => RentedArray.Return(ref chunk);

    public override T? UnreadAt(long index)
    {
        _unread ??= ReadUnread();
        long place = index - NextIndex;
        return place >= 0 && place < _unread.Count ? _unread[(int)place] : default;
    }

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Advance(ref Chunk<T> chunk, int max, long index)
    {
        IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
        max = (int)Math.Min(max, Math.Max(1, (count - index) >> 3));
        T[] buffer = RentedArray.ForChunk(ref chunk, max, index);
        int read = 0;
        while (read < max && enumerator.MoveNext())
        {
            buffer[read++] = enumerator.Current;
        }

        for (int i = 0; Keeper is { } keeper && i < read; i++)
        {
            keeper.Add(index + i, buffer[i]);
        }

        chunk.SetArray(buffer, 0, read, index);
        if (read == 0)
        {
            return index == count ? ClaimResult.Empty : throw Changed();
        }

        return index + read <= count ? ClaimResult.Claimed : throw Changed();
    }

    // Once more from the start: the run has closed its enumerator.
    private List<T> ReadUnread()
    {
        try
        {
            return [.. items.Skip((int)NextIndex)];
        }
        catch (Exception)
        {
            // The collection was changed meanwhile, or is code of the user that fails.
            return [];
        }
    }

    private static InvalidOperationException Changed() =>
        new("The source collection had another number of items than its Count said: it was changed while the run was reading it.");
}

/// <summary>A synchronous sequence that may block. It is advanced on a pool thread, so that the thread that waits for the step need not block.</summary>
internal sealed class OffloadedEnumerable<T>(IEnumerable<T> items) : IAsyncEnumerable<T>
{
    public IAsyncEnumerator<T> GetAsyncEnumerator(CancellationToken cancellationToken = default) => new Enumerator(items.GetEnumerator());

    private sealed class Enumerator(IEnumerator<T> inner) : IAsyncEnumerator<T>
    {
        public T Current => inner.Current;

        public ValueTask<bool> MoveNextAsync() => new(Task.Run(inner.MoveNext));

        public ValueTask DisposeAsync()
        {
            inner.Dispose();
            return default;
        }
    }
}

/// <summary>Picks the cheapest way to read a sequence. Nothing is read here.</summary>
internal static class SourceOf
{
    // Only the exact types: a class derived from List may enumerate something other than its items.
    public static Source<T> Enumerable<T>(IEnumerable<T> items) => items switch
    {
        T[] array => new ArraySource<T>(array, 0, array.Length),
        List<T> list when list.GetType() == typeof(List<T>) => new ListSource<T>(list),
        _ => OtherEnumerable(items),
    };

    // Separate, so that the first list of a process does not load what only other sources need.
    private static Source<T> OtherEnumerable<T>(IEnumerable<T> items) => items switch
    {
        ArraySegment<T> { Array: not null } segment => new ArraySource<T>(segment.Array, segment.Offset, segment.Count),
        IReadAsSource<T> own => own.MakeSource(),
        ImmutableArray<T> { IsDefault: false } immutable => new ArraySource<T>(ImmutableCollectionsMarshal.AsArray(immutable)!, 0, immutable.Length),
        _ => CountOf(items) is { } count ? new CollectionSource<T>(items, count) : new LazySource<T>(items),
    };

    public static Source<T> AsyncEnumerable<T>(IAsyncEnumerable<T> items) =>
        items is IReadAsSource<T> own ? own.MakeSource() : new AsyncSource<T>(items);

    public static Source<T> Channel<T>(ChannelReader<T> reader) => new ChannelSource<T>(reader);

    /// <summary>
    /// The count of a collection whose items are in memory and which no other code may be changing. Concurrent collections have a count too,
    /// but enumerate a moving target, and LINQ's lazy iterators may count without running the user's code.
    /// </summary>
    private static int? CountOf<T>(IEnumerable<T> items)
    {
        string? home = items.GetType().Namespace;
        return items switch
        {
            _ when home is "System.Collections.Concurrent" => null,
            _ when home is "System.Linq" && items is not IList<int> => null,
            ICollection<T> collection => collection.Count,
            IReadOnlyCollection<T> collection => collection.Count,
            _ => null,
        };
    }
}

/// <summary>Counts the items in the batches that have ended. A run counts batches, and people want to know of items.</summary>
/// <param name="batchSize">How many items a batch has, if it is full.</param>
internal sealed class BatchTally(int batchSize)
{
    private readonly Lock _lock = new();

    // Under the lock: the sizes of batches that are not full and have not ended.
    private Dictionary<long, int>? _smaller;

    // Atomic.
    private long _succeeded;
    private long _failed;
    private long _cancelled;

    /// <summary>How many items there are, if that is known.</summary>
    public long? Total { get; init; }

    /// <summary>How many items a batch has, if it is full.</summary>
    public int BatchSize => batchSize;

    public long Succeeded => Volatile.Read(ref _succeeded);

    public long Failed => Volatile.Read(ref _failed);

    public long Cancelled => Volatile.Read(ref _cancelled);

    /// <summary>A batch was read. For who reads, before anybody has the batch.</summary>
    public void Read(long index, int size)
    {
        if (size != batchSize)
        {
            lock (_lock)
            {
                (_smaller ??= [])[index] = size;
            }
        }
    }

    /// <summary>A batch that was read has ended.</summary>
    public void Ended(long index, ItemEnd end)
    {
        int size = batchSize;
        if (Volatile.Read(ref _smaller) is not null)
        {
            lock (_lock)
            {
                size = _smaller!.Remove(index, out int smaller) ? smaller : size;
            }
        }

        Ended(size, end);
    }

    /// <summary>A batch of this size has ended.</summary>
    public void Ended(int size, ItemEnd end)
    {
        switch (end)
        {
            case ItemEnd.Succeeded:
                Interlocked.Add(ref _succeeded, size);
                break;
            case ItemEnd.Failed:
                Interlocked.Add(ref _failed, size);
                break;
            default:
                Interlocked.Add(ref _cancelled, size);
                break;
        }
    }
}
