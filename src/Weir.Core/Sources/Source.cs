using System.Diagnostics;

namespace Weir.Core.Sources;

/// <summary>
/// Where the items of a run come from, as numbered items that workers claim in chunks. Claiming is safe from several threads;
/// each item is handed out exactly once.
/// </summary>
internal abstract class Source<T>
{
    // Made by the first give-back: a run of items that all complete at once never has one.
    private Stack<Chunk<T>>? _stash;
    private volatile bool _hasStash;

    // Made by the first claim that throws.
    private List<(long First, int Count)>? _lost;

    /// <summary>The run's token, which ends waits for the next item. Set before the first claim.</summary>
    public virtual CancellationToken CancellationToken { get; set; }

    /// <summary>Whether somebody else sees to it that one worker at a time reads this source, so that it need not. Set before the first claim.</summary>
    public bool HasOneReader { get; set; }

    /// <summary>How many items there are in all, or -1 when nobody knows before the end.</summary>
    public abstract int KnownCount { get; }

    /// <summary>The index of the next item that nobody has claimed, counting upwards only.</summary>
    public abstract long NextIndex { get; }

    /// <summary>Whether one worker at a time reads the source, so that a claim takes a turn.</summary>
    public virtual bool TakesTurns => false;

    /// <summary>Whether items were given back that anybody may claim, without a turn.</summary>
    public bool HasStash => _hasStash;

    /// <summary>Whether the reader's place among the workers is lent.</summary>
    public virtual bool IsLent => false;

    /// <summary>Whether one worker is reading the source, and there is nothing else to claim for others at this moment.</summary>
    public bool IsBusy => TakesTurns && IsTurnTaken && !_hasStash;

    /// <summary>Whether a worker is reading at this moment, so that it is worth a short wait: while it is not, a busy source stays so until an item ends.</summary>
    public virtual bool IsReading => IsTurnTaken;

    /// <summary>Whether nothing can be claimed until the ceiling is raised.</summary>
    public bool IsAt(long ceiling) => NextIndex >= ceiling && !_hasStash;

    protected virtual bool IsTurnTaken => false;

    /// <summary>Whether there is nothing to claim now. An item given back makes this false again.</summary>
    public bool IsExhausted => !_hasStash && IsDrained;

    /// <summary>Whether a claim may find something. More exact than <see cref="IsExhausted"/>, which some sources learn only from a last look.</summary>
    public bool MayHaveMore => _hasStash || !(IsDrained || (KnownCount >= 0 && NextIndex >= KnownCount));

    /// <summary>Whether the underlying sequence has no more items, apart from those given back.</summary>
    protected abstract bool IsDrained { get; }

    /// <summary>Claims up to <paramref name="max"/> items whose index is below <paramref name="ceiling"/>.</summary>
    /// <exception cref="Exception">Whatever the user's sequence throws; the source is drained then.</exception>
    public ClaimResult TryClaim(ref Chunk<T> chunk, int max, long ceiling)
    {
        while (true)
        {
            if (_hasStash && TryTakeStashed(ref chunk))
            {
                return ClaimResult.Claimed;
            }

            ClaimResult result = TryClaimNext(ref chunk, max, ceiling);
            if (result != ClaimResult.Stashed)
            {
                return result;
            }
        }
    }

    /// <summary>Lends the place of a worker that is reading, and so has no item, to one more worker for items that were given back.</summary>
    public virtual bool TryLend() => false;

    /// <summary>The reader has its place back, if it is still reading.</summary>
    public virtual void TakeBack()
    {
    }

    /// <summary>Takes the turn from a worker that keeps it while it is inside a long call. Only for the stall watch.</summary>
    public virtual void TakeKeptTurnAway()
    {
    }

    /// <summary>Calls back once when a pending claim can be finished. Only for the worker whose claim is pending.</summary>
    public virtual void OnReady(Action continuation) => throw new UnreachableException();

    /// <summary>Finishes a pending claim, and gives the turn back unless it is pending once more.</summary>
    public virtual ClaimResult FinishClaim(ref Chunk<T> chunk) => throw new UnreachableException();

    /// <summary>Gives back items that the worker will not run itself.</summary>
    public void GiveBack(in Chunk<T> rest)
    {
        if (rest.Count == 0)
        {
            return;
        }

        Stack<Chunk<T>>? stash = Volatile.Read(ref _stash);
        if (stash is null)
        {
            Stack<Chunk<T>> made = new();
            stash = Interlocked.CompareExchange(ref _stash, made, null) ?? made;
        }

        using (LockHold.HoldMonitor(stash))
        {
            stash.Push(rest);
            _hasStash = true;
        }

        // Whoever looks next at whether there are workers for the items, or who has the turn, does so after they can be seen.
        Interlocked.MemoryBarrier();
    }

    /// <summary>Tells the source that a worker is done with a chunk, so that it may use the chunk's memory again.</summary>
    public virtual void Release(ref Chunk<T> chunk) => chunk.Clear();

    /// <summary>The index ranges, in order, of the items that were claimed and given back, or lost by a claim that threw. For the end of a stopped run.</summary>
    /// <returns><see cref="NothingLeft.Ranges"/> itself at the end of nearly all runs.</returns>
    public virtual IEnumerable<(long First, int Count)> LeftOver() => _stash is null && _lost is null ? NothingLeft.Ranges : StashedAndLost();

    /// <summary>
    /// Takes out the items that came back for another attempt and never got it: they were attempted, so that nobody may take them for items that never ran. For the end of a stopped run.
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
            Chunk<T>[] all = [.. stash];
            stash.Clear();
            List<long> attempted = [];
            foreach (Chunk<T> chunk in all)
            {
                if (chunk.Repetition is { Attempts: > 0 })
                {
                    attempted.Add(chunk.FirstIndex);
                }
                else
                {
                    stash.Push(chunk);
                }
            }

            return attempted;
        }
    }

    /// <summary>Ends the user's sequence. Called once, when no worker is left.</summary>
    public virtual ValueTask DisposeAsync() => default;

    protected abstract ClaimResult TryClaimNext(ref Chunk<T> chunk, int max, long ceiling);

    /// <summary>Notes that a claim threw after it had moved on beyond its items: nobody will run them.</summary>
    protected void Lose(long first, int count)
    {
        List<(long First, int Count)> lost = Volatile.Read(ref _lost) ?? Interlocked.CompareExchange(ref _lost, [], null) ?? _lost;
        using (LockHold.HoldMonitor(lost))
        {
            lost.Add((first, count));
        }
    }

    // Apart, so that the first run of a process does not compile it.
    private IEnumerable<(long First, int Count)> StashedAndLost() =>
        (_stash?.Select(static c => (c.FirstIndex, c.Count)) ?? []).Concat(_lost ?? []).Order();

    private bool TryTakeStashed(ref Chunk<T> chunk)
    {
        Stack<Chunk<T>> stash = _stash!;
        using (LockHold.HoldMonitor(stash))
        {
            if (!stash.TryPeek(out Chunk<T> rest))
            {
                return false;
            }

            // One item only: whatever was given back has a neighbour that takes long. Taken off once it is read, which throws when the caller's list was changed.
            chunk.SetSingle(rest.Items[0], rest.FirstIndex, rest.Repetition);
            stash.Pop();
            if (rest.Count > 1)
            {
                stash.Push(rest.TakeRest(1));
            }

            _hasStash = stash.Count > 0;
            return true;
        }
    }
}
