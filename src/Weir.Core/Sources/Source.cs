namespace Weir.Core.Sources;

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

    /// <summary>Whether other code ensures that one worker at a time reads this source, so that the source need not. Set before the first claim.</summary>
    public bool HasOneReader { get; set; }

    /// <summary>Whether no more than one worker claims, so that a claim need not leave anything for others. Set before the first claim.</summary>
    public bool HasOneWorker { get; set; }

    /// <summary>The total number of items, or -1 if it is not known before the end.</summary>
    public abstract int KnownCount { get; }

    /// <summary>The index of the next unclaimed item. It only grows.</summary>
    public abstract long NextIndex { get; }

    /// <summary>How many items the source is known to have that were not claimed: the backlog, as a meter shows it. Runs no user code.</summary>
    public virtual long Unread => Math.Max(0, KnownCount - NextIndex);

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
