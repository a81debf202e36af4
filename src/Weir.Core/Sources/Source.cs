using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Core.Sources;

/// <summary>
/// Provides the items of a run, as numbered items that workers claim in chunks. Claiming is thread-safe;
/// each item is handed out exactly once.
/// </summary>
internal abstract class Source<T>
{
    // Created by the first give-back: a run whose items all complete synchronously never has one.
    private GivenBack<T>? _stash;
    private volatile bool _hasStash;
    private volatile SourceHold _hold;

    // Created by the first item that is lost.
    private List<(long First, int Count)>? _lost;

    /// <summary>The run's token, which ends waits for the next item. Set before the first claim.</summary>
    public virtual CancellationToken CancellationToken { get; set; }

    /// <summary>Whether other code ensures that one worker at a time reads this source, so that the source need not. Set before the first claim.</summary>
    public bool HasOneReader { get; set; }

    /// <summary>Whether no more than one worker claims, so that a claim need not leave anything for others. Set before the first claim.</summary>
    public bool HasOneWorker { get; set; }

    /// <summary>The source itself, or the one below it, if its items are in memory by index.</summary>
    public virtual IndexedSource<T>? InMemory => null;

    /// <summary>Who keeps the items that are read; null for nobody. Set before the first claim.</summary>
    public virtual IItemKeeper<T>? Keeper { get; set; }

    /// <summary>The total number of items, or -1 if it is not known before the end.</summary>
    public abstract int KnownCount { get; }

    /// <summary>The index of the next unclaimed item. It only grows.</summary>
    public abstract long NextIndex { get; }

    /// <summary>How many items the source is known to have that were not claimed: the backlog, as a meter shows it. Runs no user code.</summary>
    public virtual long Unread => Math.Max(0, KnownCount - NextIndex);

    /// <summary>Whether one worker at a time reads the source, so that a claim takes a turn.</summary>
    public virtual bool TakesTurns => false;

    /// <summary>Whether items were given back for any worker to claim, without a turn.</summary>
    public bool HasStash => _hasStash;

    /// <summary>The same, for a source over another one as well, whose items come back there.</summary>
    public virtual bool HasGivenBack => HasStash;

    /// <summary>Whether the reader's place among the workers is lent.</summary>
    public virtual bool IsLent => false;

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

    private bool HasHeld => IsHeld && Volatile.Read(ref _stash) is { HasNew: true };

    /// <summary>Whether what was read still begins after a stop, because it is part of something. Then the stop is like an end of the sequence.</summary>
    public virtual bool BeginsWhatWasRead => false;

    /// <summary>Whether nothing is read for now, or for good.</summary>
    protected bool IsHeld => HasOrder && !(IsStopped && BeginsWhatWasRead);

    protected bool IsStopped => _hold == SourceHold.Stopped;

    /// <summary>Whether the source was told to pause or to stop.</summary>
    protected bool HasOrder => _hold != SourceHold.None;

    /// <summary>Whether the underlying sequence has no more items, apart from those given back.</summary>
    protected abstract bool IsDrained { get; }

    /// <summary>Claims up to <paramref name="max"/> items whose index is below <paramref name="ceiling"/>.</summary>
    /// <exception cref="Exception">Any exception from the user's sequence; the source is then drained.</exception>
    public ClaimResult TryClaim(ref Chunk<T> chunk, int max, long ceiling)
    {
        while (true)
        {
            if (_hasStash && TryTakeStashed(ref chunk))
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

    /// <summary>Lends the place of a reading worker, which has no item, to one more worker for items that were given back.</summary>
    public virtual bool TryLend() => false;

    /// <summary>Returns the reader's place, if it is still reading.</summary>
    public virtual void TakeBack()
    {
    }

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

        GivenBack<T> stash = Stash();
        using (LockHold.HoldMonitor(stash))
        {
            stash.Add(rest);
            _hasStash |= !IsHeld || rest.Repetition is not null;
        }

        // A thread that next checks whether there are workers for the items, or which thread has the turn, does so after the items have become visible.
        Interlocked.MemoryBarrier();
    }

    /// <summary>Determines whether items that have not begun may be claimed. A worker that is reading now may still read one, and then gives it back.</summary>
    public virtual void Hold(SourceHold hold)
    {
        GivenBack<T> stash = Stash();
        using (LockHold.HoldMonitor(stash))
        {
            _hold = hold;
            stash.SortNew();
            _hasStash = HasAny(stash);
        }

        Interlocked.MemoryBarrier();
    }

    /// <summary>Tells the source that a worker has finished a chunk, so that it can reuse the chunk's memory.</summary>
    public virtual void Release(ref Chunk<T> chunk) => chunk.Clear();

    /// <summary>
    /// The index ranges, in order, of the items that were claimed and given back, or lost. For the end of a stopped run.
    /// </summary>
    /// <returns><see cref="NothingLeft.Ranges"/> itself at the end of nearly all runs.</returns>
    public virtual IEnumerable<(long First, int Count)> LeftOver() => !_hasStash && !HasHeld && _lost is null ? NothingLeft.Ranges : StashedAndLost();

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

        using (LockHold.HoldMonitor(stash))
        {
            return stash.TakeAttempted();
        }
    }

    /// <summary>The run has ended, and every item that began has its outcome. Called once.</summary>
    public virtual void Close()
    {
    }

    /// <summary>Ends the user's sequence. Called once, when no worker is left.</summary>
    public virtual ValueTask DisposeAsync() => default;

    protected abstract ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling);

    /// <summary>Ends a claim of the reader that has the turn.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    protected ClaimResult LeaveTurn(ref Turn turn, ClaimResult result, ref Chunk<T> chunk)
    {
        if (result == ClaimResult.Pending)
        {
            turn.Wait();
        }
        else if (!turn.GiveUp() && result == ClaimResult.Claimed)
        {
            // Its place is lent, and it has no other.
            GiveBack(chunk.TakeRest(0));
            return ClaimResult.Lent;
        }

        return result;
    }

    /// <summary>
    /// Records that no worker will run items that were claimed: their claim threw after it had moved past them, or their run has stopped before their call.
    /// </summary>
    public void Lose(long first, int count)
    {
        List<(long First, int Count)> lost = Volatile.Read(ref _lost) ?? Interlocked.CompareExchange(ref _lost, [], null) ?? _lost;
        using (LockHold.HoldMonitor(lost))
        {
            lost.Add((first, count));
        }
    }

    // Separate, so that the first run of a process does not compile it.
    private IEnumerable<(long First, int Count)> StashedAndLost() =>
        (_stash?.All ?? []).Select(static c => (c.FirstIndex, c.Count)).Concat(_lost ?? []).Order();

    private bool HasAny(GivenBack<T> stash) => stash.HasWaited || (stash.HasNew && !IsHeld);

    private GivenBack<T> Stash()
    {
        if (Volatile.Read(ref _stash) is { } stash)
        {
            return stash;
        }

        GivenBack<T> made = new();
        return Interlocked.CompareExchange(ref _stash, made, null) ?? made;
    }

    private bool TryTakeStashed(ref Chunk<T> chunk)
    {
        GivenBack<T> stash = _stash!;
        using (LockHold.HoldMonitor(stash))
        {
            bool taken = stash.TryTake(ref chunk, newToo: !IsHeld);
            _hasStash = HasAny(stash);
            return taken;
        }
    }
}
