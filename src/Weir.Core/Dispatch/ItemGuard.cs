using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>
/// What a worker needs so that its item can be given up: the <see cref="ItemWord"/>, which decides about the item, a cursor that spares the worker from
/// changing it, and the item's clock and thread.
/// </summary>
/// <remarks>
/// <para>
/// The worker begins an item with a store of its word, and ends one that returns inside its call by moving the cursor to that word: a store and a load. Nobody
/// else may then change the word. So another thread that finds the word InCall closes the cursor first, for good. Then either it sees the cursor at this word,
/// and the item has ended; or the worker finds its cursor closed, here and at all later items, and both compete for the word with a compare-and-swap.
/// </para>
/// <para>
/// If the cursor could be opened again, a thread that has closed it and not yet changed the word would change the word of an item that ends by its cursor
/// alone: the item would have two outcomes.
/// </para>
/// </remarks>
internal sealed class ItemGuard
{
    private ItemWord _word;
    private ClosableCursor _ended;

    private Exception? _handedError;
    private long _seen;
    private long _seenAt;

    public ItemGuard(IRunPilot? pilot = null) => Meter = pilot is null ? null : new ItemMeter(pilot);

    /// <summary>Measures the worker's items, in a run with a pilot.</summary>
    public readonly ItemMeter? Meter;

    /// <summary>The clock of the worker's item.</summary>
    public ItemClock Clock = new();

    /// <summary>The executor's thread that the worker runs on.</summary>
    public object? Host { get; set; }

    /// <summary>Whether the worker has an item without an outcome. For statistics: the item may have ended since.</summary>
    public bool IsInFlight
    {
        get
        {
            long word = Word;
            return ItemWord.StateOf(word) switch
            {
                ItemWord.InCall => !HasEnded(word),
                ItemWord.Moving or ItemWord.Waiting or ItemWord.Sharing or ItemWord.Shared => true,
                _ => false,
            };
        }
    }

    /// <summary>Whether the worker, which asks, is inside its item's call. The item may have been given up.</summary>
    public bool IsInsideCall
    {
        get
        {
            long word = Word;
            return ItemWord.StateOf(word) switch
            {
                ItemWord.InCall => !HasEnded(word),
                ItemWord.Sharing or ItemWord.Shared or ItemWord.Abandoned => true,
                _ => false,
            };
        }
    }

    /// <summary>The state of the worker's item. Another thread may change it at any time.</summary>
    public long Word => _word.Value;

    /// <summary>The state of the worker's item when no thread is in the few instructions of Moving or Sharing.</summary>
    public long SettledWord
    {
        get
        {
            SpinWait spin = default;
            long word = Word;
            while (ItemWord.StateOf(word) is ItemWord.Moving or ItemWord.Sharing)
            {
                spin.SpinOnce();
                word = Word;
            }

            return word;
        }
    }

    /// <summary>Whether the item that was seen inside its call has ended there, which leaves the word unchanged.</summary>
    public bool HasEnded(long word) => _ended.Position == word;

    /// <summary>The worker's next item, or code of the user around its item, begins.</summary>
    /// <returns>The word from now on.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Begin() => _word.Begin(ItemWord.InCall);

    /// <summary>
    /// Ends the worker's item, whose call has returned or thrown on this thread, without an atomic operation unless another thread has wanted an item.
    /// </summary>
    public bool TryEndCall(long inCall) => TryEndAtOnce(inCall) || TryMoveOn(inCall, ItemWord.Idle);

    /// <summary>The same as long as no other thread has wanted an item of this worker. Otherwise the word decides.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryEndAtOnce(long inCall) => _ended.TryMoveTo(inCall);

    /// <summary>Changes the state of the worker's own item, unless the item was given up.</summary>
    public bool TryMoveOn(long word, long state)
    {
        if (_word.TryMove(word, state))
        {
            return true;
        }

        // The items claimed beyond this one may be given to other workers meanwhile, or have been. This does not affect the item itself.
        SpinWait spin = default;
        while (true)
        {
            long now = Word;
            if (now == ItemWord.In(word, ItemWord.Sharing))
            {
                spin.SpinOnce();
            }
            else if (now != ItemWord.In(word, ItemWord.Shared))
            {
                return false;
            }
            else if (_word.TryMove(now, state))
            {
                return true;
            }
        }
    }

    /// <summary>Ends the worker's item for which it has waited, unless the item was given up.</summary>
    public bool TryEndWait()
    {
        long word = Word;
        return ItemWord.StateOf(word) == ItemWord.Waiting && _word.TryMove(word, ItemWord.Idle);
    }

    /// <summary>The worker, which alone may change the word while it is Moving, is done with that.</summary>
    public void EndMoving(long word, long state) => _word.Set(word, state);

    /// <summary>The worker cannot continue: from here on, nobody can give up its item.</summary>
    /// <returns>False if somebody has.</returns>
    public bool TryEndBroken()
    {
        SpinWait spin = default;
        while (true)
        {
            long word = Word;
            switch (ItemWord.StateOf(word))
            {
                case ItemWord.Abandoned:
                    return false;
                case ItemWord.Sharing:
                    spin.SpinOnce();
                    break;
                default:
                    if (_word.TryMove(word, ItemWord.Idle))
                    {
                        return true;
                    }

                    break;
            }
        }
    }

    /// <summary>Takes the item away from its worker. For any thread.</summary>
    public bool TryAbandon(long word) => (ItemWord.StateOf(word) != ItemWord.InCall || IsStillInCall(word)) && _word.TryMove(word, ItemWord.Abandoned);

    /// <summary>Begins to take away the items that the worker claimed beyond the one that it was seen in. For the stall watch.</summary>
    public bool TryShare(long word) => IsStillInCall(word) && _word.TryMove(word, ItemWord.Sharing);

    public void EndSharing(long word) => _word.Set(word, ItemWord.Shared);

    /// <summary>The worker, which is new and nobody has, replaces an orphan and has to record the outcome of its item.</summary>
    public void HandOver(Exception error)
    {
        _handedError = error;
        _word.Set(0, ItemWord.Handed);
    }

    /// <summary>The worker takes the outcome of the orphan's item, unless the run has ended without it.</summary>
    public bool TryTakeHanded() => _word.TryMove(ItemWord.Handed, ItemWord.Idle);

    /// <summary>Takes the outcome from the worker, which may never get a thread.</summary>
    public bool TryLoseHanded() => _word.TryMove(ItemWord.Handed, ItemWord.Abandoned);

    /// <summary>The error of the item whose orphan the worker replaces. Only for the thread that took its outcome.</summary>
    public Exception TakeHandedError()
    {
        Debug.Assert(_handedError is not null, "A successor is made with the error of the item it records.");
        Exception error = _handedError;
        _handedError = null;
        return error;
    }

    /// <summary>Whether an item that was seen inside its call is still inside it. From now on, its worker competes for the word.</summary>
    private bool IsStillInCall(long word) => _ended.Close() != word;

    /// <summary>
    /// Sets the deadline of an item that started without one. Only for the owner of the item: its worker, or the thread that took it from the worker.
    /// </summary>
    public void SetDeadlineIfNotSet(long word, Pump run, Repetition? repetition)
    {
        if (Clock.Deadline == ItemClock.NotSet)
        {
            Clock.Set(SeenAt(word) ?? run.Time.GetTimestamp(), run.Limits, repetition);
        }
    }

    /// <summary>The time until somebody has to look at the worker's item again. For the timer.</summary>
    /// <param name="word">Its state, which is not Abandoned.</param>
    /// <param name="run">The run.</param>
    /// <param name="isOver">Whether the item's time is over, so that it has to be given up.</param>
    public TimeSpan TimeLeft(long word, Pump run, out bool isOver)
    {
        isOver = false;
        ItemLimits limits = run.Limits;
        switch (ItemWord.StateOf(word))
        {
            case ItemWord.Moving or ItemWord.Sharing:
                return TimeSpan.FromMilliseconds(1);
            case ItemWord.InCall when HasEnded(word):
                // Between two items.
                break;
            case ItemWord.InCall or ItemWord.Shared or ItemWord.Waiting:
                long deadline = Volatile.Read(ref Clock.Deadline);
                if (deadline == ItemClock.NotSet)
                {
                    if (SeenAt(word) is not { } seen)
                    {
                        // The item has only just started.
                        break;
                    }

                    deadline = Math.Min(limits.OfItem(seen), limits.OfAttempt(seen));
                }

                if (deadline == ItemClock.Never)
                {
                    break;
                }

                TimeSpan left = run.Time.GetElapsedTime(run.Time.GetTimestamp(), deadline);
                isOver = left <= TimeSpan.Zero;
                return left;
        }

        return limits.Shortest;
    }

    /// <summary>Whether the item is inside its call, and was at the stall watch's last look. For the watch, before it records the word.</summary>
    public bool IsStuck(long word) =>
        ItemWord.ItemOf(word) == ItemWord.ItemOf(_seen) && (ItemWord.StateOf(word) == ItemWord.Shared
            || (ItemWord.StateOf(word) == ItemWord.InCall && !HasEnded(word)));

    /// <summary>
    /// Records the item's state for the stall watch, whose looks do not overlap. An item that it sees for the first time gets a time, which is at most one
    /// period of the watch after the item's start and never before it. This costs the item nothing.
    /// </summary>
    /// <returns>Whether the item was in the same state at the last look.</returns>
    public bool RecordSeen(long word, long now)
    {
        if (word == _seen)
        {
            return true;
        }

        if (ItemWord.ItemOf(word) != ItemWord.ItemOf(_seen))
        {
            _seenAt = now;
        }

        Volatile.Write(ref _seen, word);
        return false;
    }

    /// <summary>
    /// When the stall watch first saw the item, or null if it has not. Only the worker, or a thread that then changes the word, can rely on it.
    /// </summary>
    public long? SeenAt(long word) => ItemWord.ItemOf(Volatile.Read(ref _seen)) == ItemWord.ItemOf(word) ? _seenAt : null;
}
