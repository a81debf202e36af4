using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Core.Sources;

/// <summary>
/// Provides the items of a run, as numbered items that workers claim in chunks. Claiming is thread-safe;
/// each item is handed out exactly once.
/// </summary>
internal abstract class Source<T> : Source
{
    // Created by the first give-back: a run whose items all complete synchronously never has one.
    private GivenBack<T>? _stash;

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

        GivenBack<T> stash = Stash();
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
        GivenBack<T> stash = Stash();
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
        lock (stash)
        {
            bool taken = stash.TryTake(ref chunk, newToo: !IsHeld);
            HasStash = HasAny(stash);
            return taken;
        }
    }
}
