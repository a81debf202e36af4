using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

// Giving up: how an item ends while its call still runs.
//
// An item of a run holds a worker, and perhaps its thread and the items claimed beyond it. When its time limit passes, or the run has to end, all of that must
// go to others, even if the call never returns. (A single awaited call holds nothing but its caller, who stops waiting for it: TimeoutScope in
// Weir.Resilience.)
//
// - Who decides. One word per worker holds the state of its item (ItemWord, with a table of who changes it). The thread that changes the word decides what
//   becomes of the item, so each item has exactly one outcome.
// - What an item pays. It begins with a store of the word and ends with a store and a load of a cursor (ClosableCursor). Whoever wants the item closes the
//   cursor first, and pays for both with a process-wide barrier. No item reads the clock to begin: the stall watch records when it first saw one that lasts.
// - What is given up. The item gets its outcome from the thread that gave it up. What its worker had claimed beyond it goes back to the source. The worker is
//   an orphan from then on: it no longer touches the run, and what it still brings is discarded. A new worker takes its place (Replace), and on a team of
//   threads another thread does.
// - Parked calls are given up by whoever takes them out of their slots (ParkedCalls.cs).
// - All at once. Abort stops the run, and takes every item from its worker. A worker that was between two items is found at its next one, by a timer.
//
// In this file: the guard and its word; the parts of PumpWorker and of Pump that give up; the clock, the tokens and the limits of items.

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
    // Atomic: see the table at ItemWord.
    private ItemWord _word;

    // Written by the worker alone, closed by others: see ClosableCursor.
    private ClosableCursor _ended;

    // Of the thread that has changed the word to or from Handed.
    private Exception? _handedError;

    // Of the stall watch, whose looks do not overlap. Others read the word that it has seen, by a volatile read, and then the time that was written before.
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

    /// <summary>Ends the item by the cursor, as long as no other thread has wanted an item of this worker. Otherwise the word decides.</summary>
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

    /// <summary>
    /// A worker's position on its way from item to item. Another thread can close the way in order to take an item, or those behind it, from the worker. The
    /// worker pays a store and a load per item; the other thread pays for both with a process-wide barrier.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Only the worker writes the position: it stores where it goes, and then loads whether the way is closed. The other thread closes it, issues the barrier,
    /// and then loads the position. If the worker has found it open, it did so before the barrier, and the barrier makes its position visible to the other
    /// thread, which sees that the worker has gone on. Otherwise the worker sees that it is closed. So at least one of them knows of the other. Both may; what
    /// then decides is a word that both try to change (<see cref="ItemGuard"/>).
    /// </para>
    /// <para>
    /// Without the barrier, the worker's processor may load before its store is visible. Then the worker ends an item that the other thread has taken, and the
    /// item has two outcomes.
    /// </para>
    /// </remarks>
    private struct ClosableCursor
    {
        private long _position;
        private bool _isClosed;

        /// <summary>Where the worker is.</summary>
        public readonly long Position => Volatile.Read(in _position);

        /// <summary>Moves on. Only for the worker.</summary>
        /// <returns>Whether the way is open, so that nobody else knows of the worker.</returns>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public bool TryMoveTo(long position)
        {
            // The store first. The two volatile accesses keep the compiler from swapping them, and the barrier of the other thread keeps the processor from it.
            Volatile.Write(ref _position, position);
            return !Volatile.Read(ref _isClosed);
        }

        /// <summary>Closes the way, for good.</summary>
        /// <returns>Where the worker is. It may have gone on, and then knows that the way is closed.</returns>
        public long Close()
        {
            Volatile.Write(ref _isClosed, true);
            Interlocked.MemoryBarrierProcessWide();
            return Volatile.Read(ref _position);
        }
    }
}

/// <summary>
/// The state of an item that other threads can give up, together with the item's serial number, so that a late timer cannot hit the next item. It is changed by
/// compare-and-swap: the thread that takes it out of a state decides what becomes of the item, so each item has exactly one outcome.
/// </summary>
/// <remarks>
/// <list type="table">
/// <listheader><term>from, to</term><description>who</description></listheader>
/// <item><term>Idle, InCall</term><description>the worker, by a store: nobody else changes an idle word</description></item>
/// <item><term>InCall, Idle</term><description>
/// the worker. The word stays as it is while nobody has wanted an item of this worker: the worker's cursor says that the item has ended (see
/// <see cref="ItemGuard.TryEndCall"/>), and the next item begins with a store
/// </description></item>
/// <item><term>InCall or Shared, Moving; Moving, Waiting or Idle</term><description>
/// the worker, whose call has suspended. Others spin while it moves
/// </description></item>
/// <item><term>Waiting, Idle</term><description>the worker, when the call has ended</description></item>
/// <item><term>InCall, Sharing; Sharing, Shared</term><description>the stall watch. The worker and others spin while it shares</description></item>
/// <item><term>InCall, Shared or Waiting, Abandoned</term><description>
/// whoever gives up the item: a timer, or the end of the run. There is no way back
/// </description></item>
/// <item><term>Handed, Idle</term><description>the worker that replaces an orphan, when it has a thread</description></item>
/// <item><term>Handed, Abandoned</term><description>the end of the run, which records the outcome in that worker's place</description></item>
/// </list>
/// </remarks>
internal struct ItemWord
{
    private const long StateMask = 7;

    /// <summary>Between items. The state that all others lead back to.</summary>
    public const long Idle = 0;

    /// <summary>Inside the call, on a thread. The items that the worker claimed beyond this one belong to the thread that gives it up.</summary>
    public const long InCall = 1;

    /// <summary>The worker is giving back the items that it claimed beyond this one, which takes a few instructions.</summary>
    public const long Moving = 2;

    /// <summary>The call has returned, and the worker waits for its end.</summary>
    public const long Waiting = 3;

    /// <summary>Another thread decided the item's outcome. The worker is an orphan.</summary>
    public const long Abandoned = 4;

    /// <summary>
    /// Inside a call that takes long. The items that the worker claimed beyond this one are being given to other workers, which takes a few instructions.
    /// </summary>
    public const long Sharing = 5;

    /// <summary>Inside a call that takes long. The worker no longer has any items beyond this one.</summary>
    public const long Shared = 6;

    /// <summary>The worker that replaces an orphan has yet to record the outcome of its item.</summary>
    public const long Handed = 7;

    private long _value;

    /// <summary>The word, for a thread that may then try to change it.</summary>
    public readonly long Value => Volatile.Read(in _value);

    public static long StateOf(long word) => word & StateMask;

    /// <summary>The serial number of the word's item.</summary>
    public static long ItemOf(long word) => word & ~StateMask;

    /// <summary>The word of the same item in another state.</summary>
    public static long In(long word, long state) => ItemOf(word) + state;

    /// <summary>The next item begins. Only for the owner of an idle word.</summary>
    /// <returns>The word from now on.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Begin(long state)
    {
        long word = In(_value, state) + StateMask + 1;
        Volatile.Write(ref _value, word);
        return word;
    }

    /// <summary>Changes the state by a store. Only for the owner of a word that nobody else changes in its state.</summary>
    public void Set(long word, long state) => Volatile.Write(ref _value, In(word, state));

    /// <summary>Changes the state, unless another thread has changed the word.</summary>
    public bool TryMove(long word, long state) => Interlocked.CompareExchange(ref _value, In(word, state), word) == word;
}

/// <content>
/// The worker's item as other threads see it. It can be given up while it runs, because a time limit passed or the run ends, even if the call never returns.
/// <see cref="ItemGuard"/> says who decides about an item. A worker whose item was given up is an orphan: it no longer touches the run, and another worker
/// takes its place.
/// </content>
internal abstract partial class PumpWorker
{
    /// <summary>What lets others give up its item; null in a run whose items cannot be given up.</summary>
    protected readonly ItemGuard? Guard;

    /// <summary>
    /// Where the worker's user code is. Set before the word, and reset after it, so that a thread that gives up the worker finds what it gives up.
    /// </summary>
    protected Around At;

    protected enum Around : byte
    {
        /// <summary>In the call, or nowhere.</summary>
        Call = 0,

        /// <summary>In what decides about an item whose attempt has ended. The item has no outcome yet.</summary>
        Recovery,

        /// <summary>In a hook for an item that has its outcome, or for none.</summary>
        Hook,
    }

    /// <summary>Whether the worker is in the call of an item that was not given up. For a thread that is in that call too, or goes on with it.</summary>
    public bool IsInCallOf(long index) => Index == index && At == Around.Call && Guard!.IsInFlight;

    /// <summary>What the item brought along from earlier attempts, if it had any.</summary>
    protected abstract Repetition? Repetition { get; }

    /// <summary>Whether the worker has claimed items that it has not begun. For the worker, or for the thread that has taken them from it.</summary>
    protected abstract bool HasClaimed { get; }

    /// <summary>Whether the worker seems to have such items, for any thread: a hint, because the worker may be changing it.</summary>
    protected abstract bool MayHaveClaimed { get; }

    /// <summary>Gives those back to the source.</summary>
    protected abstract void GiveBackClaimed();

    /// <summary>The item was given up inside its call.</summary>
    protected abstract void LeaveCall();

    /// <summary>Records the outcome of the item, which was given up.</summary>
    protected abstract void RecordGivenUp(ItemStatus status, Exception? error);

    /// <summary>The worker, which is new, takes the item and the parked calls of one that was given up.</summary>
    protected abstract void TakeOver(PumpWorker orphan);

    /// <summary>Gives up the parked calls whose time is over.</summary>
    /// <param name="left">The time until something else has to be looked at.</param>
    /// <returns>The time until the next look.</returns>
    protected abstract TimeSpan CheckParked(TimeSpan left);

    /// <summary>Goes on after user code around an item.</summary>
    /// <param name="then">What the worker may have waited for.</param>
    /// <param name="awaited">What <see cref="WaitAround"/> got.</param>
    protected abstract StepResult ContinueAfter(Wait then, object awaited);

    /// <summary>The worker was given up while user code around its item ran: a result that still comes for the item is disposed of.</summary>
    protected abstract void Forsake(object awaited);

    /// <summary>Gives up the item that the worker is running, if any, with the given outcome.</summary>
    /// <param name="status">The outcome.</param>
    /// <param name="error">Its error, if any.</param>
    /// <param name="isOrphan">Whether a thread may still be running the item.</param>
    public bool TryAbandon(ItemStatus status, Exception? error, out bool isOrphan)
    {
        ItemGuard guard = Guard!;
        long word = guard.SettledWord;
        isOrphan = ItemWord.StateOf(word) != ItemWord.Handed;
        switch (ItemWord.StateOf(word))
        {
            case ItemWord.InCall or ItemWord.Shared or ItemWord.Waiting when Detach(guard, word):
                if (At == Around.Hook)
                {
                    TellParked();
                    return true;
                }

                RecordGivenUp(status, error);
                break;
            case ItemWord.Handed when guard.TryLoseHanded():
                // It waits for a thread, which it may never get. Its item had already timed out.
                RecordGivenUp(ItemStatus.TimedOut, guard.TakeHandedError());
                break;
            default:
                return false;
        }

        TellParked();
        return true;
    }

    /// <summary>
    /// Called by the stall watch at each look. If the item has not ended since the last look, gives the items that the worker claimed beyond it to other
    /// workers.
    /// </summary>
    /// <param name="isStuck">Whether the worker is inside the same call as at the last look.</param>
    /// <returns>Whether there are now more items to claim.</returns>
    public bool ShareIfStuck(out bool isStuck)
    {
        ItemGuard guard = Guard!;
        Pump run = Run;
        long word = guard.Word;
        isStuck = guard.IsStuck(word);
        if (!guard.RecordSeen(word, run.SeesStarts ? run.Time.GetTimestamp() : 0) || ItemWord.StateOf(word) != ItemWord.InCall
            || !MayHaveClaimed || run.Orders is not null
            || !guard.TryShare(word))
        {
            return false;
        }

        // Given back before the worker can end its item and find nothing more to do.
        bool shares = HasClaimed;
        try
        {
            FaultPoint.Pass("PumpWorker.ShareIfStuck", run);
            GiveBackClaimed();
        }
        finally
        {
            // Also if there is no memory to give them back with, and the run fails: others wait for this.
            guard.EndSharing(word);
        }

        return shares;
    }

    /// <summary>The worker, which is new, has to record that an item was given up. For that it gets a thread, even if items hold those of the pool.</summary>
    public void HandOver(long index, Exception error)
    {
        Waiting = Wait.Handover;
        Index = index;
        Guard!.HandOver(error);
    }

    /// <summary>Gives the worker that has been handed an item its thread.</summary>
    public void QueueHandedOver()
    {
        try
        {
            FaultPoint.Pass("PumpWorker.GiveUp", Run);
            Run.Settings.Executor.QueueUrgently(this);
        }
        catch (Exception e)
        {
            // The run does not wait for it, unless somebody has given it up already.
            if (Guard!.TryLoseHanded())
            {
                Run.LoseOrphan(e);
            }
            else
            {
                Run.EngineFailed(e);
            }
        }
    }

    /// <summary>Looks at the deadlines of the item and of the parked calls, and sets the timer for the next look. The timer's own call.</summary>
    public void CheckDeadline()
    {
        FaultPoint.Pass("PumpWorker.CheckDeadline", Run);
        ItemGuard guard = Guard!;
        long word = guard.Word;
        if (ItemWord.StateOf(word) == ItemWord.Abandoned)
        {
            return;
        }

        TimeSpan left = guard.TimeLeft(word, Run, out bool isOver);
        if (isOver)
        {
            GiveUp(guard, word);
            return;
        }

        left = CheckParked(left);
        guard.Clock.TimerNow?.Change(ItemLimits.RoundUp(left), Timeout.InfiniteTimeSpan);
    }

    private void GiveUp(ItemGuard guard, long word)
    {
        PumpWorker? successor = null;
        try
        {
            if (Detach(guard, word))
            {
                successor = Replace(guard, word);
            }
        }
        catch (Exception e)
        {
            // Nothing throws before the item is taken from this worker. What it has not told is now for nobody else to tell.
            TellParked();
            Run.LoseOrphan(e);
            return;
        }

        if (successor is not null)
        {
            successor.QueueHandedOver();
            return;
        }

        // The item has just ended, or its call has just started to wait. Its current state decides.
        CheckDeadline();
    }

    /// <summary>Takes the item from the worker, together with the items that the worker had claimed beyond it.</summary>
    private bool Detach(ItemGuard guard, long word)
    {
        if (!guard.TryAbandon(word))
        {
            return false;
        }

        FaultPoint.Pass("PumpWorker.Detach", Run);
        if (At != Around.Hook)
        {
            // Before anything else learns of it: a hook or a wait of the item that ends just now sees its token, and makes no call.
            if (guard.Clock.Stop is { } stop)
            {
                SafeCancel.Later(stop);
            }

            LeaveCall();
            if (At == Around.Call && ItemWord.StateOf(word) == ItemWord.Waiting)
            {
                guard.Meter?.GiveUp();
            }
        }

        StopsExecuting();
        GiveBackClaimed();
        if (ItemWord.StateOf(word) != ItemWord.Waiting && guard.Host is { } host)
        {
            Run.Settings.Executor.ReplaceHost(host);
        }

        return true;
    }

    /// <summary>Makes the worker that takes the place of this one, whose item was given up.</summary>
    private PumpWorker Replace(ItemGuard guard, long word)
    {
        Pump run = Run;
        guard.SetDeadlineIfNotSet(word, run, Repetition);
        bool isItems = guard.Clock.Deadline >= guard.Clock.ItemDeadline;
        if (At == Around.Call)
        {
            ItemLimits limits = run.Limits;
            run.Settings.Adaptive?.TimedOut((isItems ? limits.Item : limits.Attempt)!.Value);
        }

        Exception error = isItems ? run.ItemTimedOut(Index) : run.AttemptTimedOut((Repetition?.Attempts ?? 0) + 1);
        FaultPoint.Pass("PumpWorker.Replace", run);
        PumpWorker successor = run.CreateSuccessor(this);
        successor.Guard!.Clock.Continue(guard.Clock);
        successor.TakeOver(this);
        guard.Clock.TimerNow?.Dispose();
        successor.HandOver(Index, error);
        return successor;
    }

    /// <summary>
    /// User code around a call begins, on this thread. Where items can be given up, so can it, even if it never ends: it has a state of the word, as a call
    /// has. <see cref="TryEndAround"/> or <see cref="WaitAround"/> follows.
    /// </summary>
    /// <param name="around">Where it is.</param>
    /// <param name="deadline">When the item is given up, if it has not left by then.</param>
    /// <returns>The worker's word meanwhile, in a guarded run.</returns>
    protected long BeginAround(Around around, long deadline)
    {
        At = around;
        if (Guard is not { } guard)
        {
            return 0;
        }

        guard.Host = Run.Settings.Executor.CurrentHost;
        Volatile.Write(ref guard.Clock.Deadline, deadline);
        return guard.Begin();
    }

    /// <summary>User code has ended on this thread.</summary>
    /// <returns>False if the worker was given up meanwhile: it is an orphan.</returns>
    protected bool TryEndAround(long word)
    {
        if (Guard?.TryEndCall(word) == false)
        {
            return false;
        }

        At = Around.Call;
        return true;
    }

    /// <summary>Waits for user code, unless it has ended.</summary>
    /// <param name="task">Its end. An exception from it is the engine's own fault and ends the run.</param>
    /// <param name="awaited">What is needed to go on.</param>
    /// <param name="word">The worker's word.</param>
    /// <param name="then">What comes then.</param>
    protected StepResult WaitAround(Task task, object awaited, long word, Wait then)
    {
        if (task.IsCompleted)
        {
            if (TryEndAround(word))
            {
                return ContinueAfter(then, awaited);
            }

            Forsake(awaited);
            return StepResult.Left;
        }

        Awaited = awaited;
        Waiting = then;
        StopsExecuting();
        if (Guard?.TryMoveOn(word, ItemWord.Waiting) == false)
        {
            Forsake(awaited);
            return StepResult.Left;
        }

        // From here on, the worker may be running on another thread.
        task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(Continuation);
        return StepResult.Waits;
    }

    /// <summary>The user code that the worker waited for has ended.</summary>
    protected StepResult EndWaitAround(Wait then)
    {
        object awaited = Awaited!;
        if (Guard?.TryEndWait() == false)
        {
            Forsake(awaited);
            return LeaveAsOrphan();
        }

        Awaited = null;
        At = Around.Call;
        return ContinueAfter(then, awaited);
    }

    protected StepResult LeaveAsOrphan()
    {
        StopsExecuting();
        return StepResult.Left;
    }
}

/// <content>What the worker does with its item when that was given up.</content>
internal sealed partial class PumpWorker<TItem, TResult, TPending, TCall, TSink>
{
    protected override void LeaveCall() => run.Call.GivenUp(_item, Index);

    protected override void RecordGivenUp(ItemStatus status, Exception? error)
    {
        run.Sink.Unsuccessful(Index, status, error);
        if (status == ItemStatus.TimedOut)
        {
            run.CountTimedOut();
        }

        _unsuccessful++;
    }

    protected override void TakeOver(PumpWorker orphan)
    {
        var other = (PumpWorker<TItem, TResult, TPending, TCall, TSink>)orphan;
        (_item, _repetition) = (other._item, other._repetition);
        if (other._parked is { } parked)
        {
            // What it has not told is this worker's to tell.
            Volatile.Write(ref _parked, parked);
            other._parked = null;
            _untold = other._untold;
            other._untold = 0;
            TellParked();
            Guard!.Clock.StartTimer(run, this);
            CheckDeadline();
        }
    }

    /// <summary>Observes the outcome of abandoned work, so that its exception does not count as unobserved, and discards it.</summary>
    private void Observe(TPending pending)
    {
        try
        {
            pending.OnCompleted(() =>
            {
                try
                {
                    DiscardedResult.Drop(_item, pending.GetResult());
                }
                catch (Exception e)
                {
                    // The item already has its outcome.
                    run.Recovery?.Discard(e, Index);
                }
            });
        }
        catch (Exception)
        {
            // There is no memory to observe it with.
        }
    }
}

/// <content>
/// What ends without a worker of its own: parked calls, which the run waits for, and items that are given up, which it does not, one by one or all together
/// because the run has to end now.
/// </content>
internal abstract partial class Pump
{
    /// <summary>
    /// Ends the run without waiting for running items: each of them gets <paramref name="status"/>, and no other item runs.
    /// Only for guarded runs.
    /// </summary>
    public void Abort(ItemStatus status, Exception? error)
    {
        if (TryStop(by: null, status, error, out bool finish))
        {
            // User code may take long to react to its cancelled token, and nobody waits for it here.
            _stop.CancelTokens(later: true);
            if (finish)
            {
                QueueFinish();
            }
        }

        if (!AbandonAll(status, error))
        {
            // A worker was between two items and had not yet seen that the run has ended. It sees this before its next item, or is caught in that item.
            new AbandonTimer(this, status, error).Wait();
        }
    }

    /// <summary>
    /// A new worker that replaces an orphan. It counts as the orphan did, so the run waits for it. The run forgets the orphan, which may live as long
    /// as the call that it waits for: an endless run may have any number of them.
    /// </summary>
    public PumpWorker CreateSuccessor(PumpWorker orphan)
    {
        PumpWorker successor = CreateWorker();
        lock (_lock)
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            orphan.AddTo(ref past);
            past.InFlight = 0;
            past.Abandoned++;
            _workers.ForgetNeedsLock(orphan);
            _workers.JoinNeedsLock(successor);
        }

        return successor;
    }

    /// <summary>An item was given up and then nobody could take its worker's place: the run fails, and does not wait for it.</summary>
    public void LoseOrphan(Exception error)
    {
        EngineFailed(error);
        EndAbandoned(isOrphan: false);
    }

    private void EndAbandoned(bool isOrphan)
    {
        lock (_lock)
        {
            if (isOrphan)
            {
                _counts.PastNeedsLock.Abandoned++;
            }

            _workers.LeaveNeedsLock();
        }

        FinishIfDone();
    }

    /// <summary>A parked call was given up and then nobody could record it: the run fails, and does not wait for it.</summary>
    public void LoseGivenUp(Exception error)
    {
        EngineFailed(error);
        _parked.Remove(1);
        FinishIfDone();
    }

    /// <summary>Whether an item was given up, so that nobody waits for its call any more. For the call, whose token is cancelled.</summary>
    /// <remarks>Such a token tells it while the run goes on. A run that has stopped cancels those of all items, and may still wait for this one.</remarks>
    public bool HasGivenUp(long index)
    {
        if (!IsGuarded)
        {
            return false;
        }

        if (!IsOver || HasEnded)
        {
            return true;
        }

        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            if (worker.IsInCallOf(index))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Gives up the items of all workers, and all parked calls.</summary>
    /// <returns>Whether the run has ended.</returns>
    public bool AbandonAll(ItemStatus status, Exception? error)
    {
        // A run that ended by itself gives away what its workers have. One that is over, and has not ended, keeps it.
        if (HasFinished)
        {
            return true;
        }

        for (PumpWorker? worker = _workers.First; worker is not null; worker = worker.NextCreated)
        {
            bool isOrphan = true;
            bool abandoned = true;
            try
            {
                abandoned = worker.TryAbandon(status, error, out isOrphan);
            }
            catch (Exception e)
            {
                // The item was taken from its worker, but then there was no memory to record it or no thread to replace the worker's. It will no longer end by
                // itself.
                _stop.Break(e);
                worker.TellParked();
            }

            if (abandoned)
            {
                EndAbandoned(isOrphan);
            }

            AbandonParkedOf(worker, status, error);
        }

        return HasFinished;
    }

    private bool HasFinished
    {
        get
        {
            lock (_lock)
            {
                return _finished;
            }
        }
    }

    /// <summary>A new worker that records that a parked call was given up. The call no longer counts, and the worker does.</summary>
    public PumpWorker CreateForParked()
    {
        PumpWorker worker = CreateWorker();
        lock (_lock)
        {
            _counts.PastNeedsLock.Abandoned++;
            _workers.JoinNeedsLock(worker);
            _workers.AddNeedsLock();
            _parked.Remove(1);
            return worker;
        }
    }

    private void AbandonParkedOf(PumpWorker worker, ItemStatus status, Exception? error)
    {
        int abandoned = 0;
        try
        {
            worker.AbandonParked(status, error, ref abandoned);
        }
        catch (Exception e)
        {
            // As for the items of workers.
            _stop.Break(e);
        }

        if (abandoned == 0)
        {
            return;
        }

        if (status == ItemStatus.TimedOut)
        {
            _counts.AddTimedOut(abandoned);
        }

        lock (_lock)
        {
            ref RunSample past = ref _counts.PastNeedsLock;
            past.Unsuccessful += abandoned;
            past.Abandoned += abandoned;
            _parked.Remove(abandoned);
        }

        FinishIfDone();
    }

    /// <summary>The error of an item that has passed its time limit. It names the item where no list of failures or outcomes does.</summary>
    public Exception ItemTimedOut(long index) => TimeLimit.OfItem(Settings.PerItemTimeout!.Value, Settings.ErrorMode == ErrorMode.FailFast ? index : null);

    /// <summary>The item of a parked call was given up. What the call still brings is observed and discarded.</summary>
    public abstract void GiveUpParked(long index, Task call);

    /// <summary>The error of an attempt that has passed its own time limit.</summary>
    public abstract Exception AttemptTimedOut(int attempt);

    /// <summary>
    /// Gives up the remaining items of a run, repeatedly, until it has ended. After some milliseconds, what is left is no worker between two items but code
    /// that cannot be given up, such as that of a sequence, and may take for ever: so it looks less and less often.
    /// </summary>
    [SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "It ends its timer itself.")]
    private sealed class AbandonTimer
    {
        private static readonly TimeSpan Longest = TimeSpan.FromSeconds(1);

        private readonly Pump _run;
        private readonly ItemStatus _status;
        private readonly Exception? _error;
        private readonly WatchTimer _timer;
        private TimeSpan _pause = TimeSpan.FromMilliseconds(1);

        public AbandonTimer(Pump run, ItemStatus status, Exception? error)
        {
            _run = run;
            _status = status;
            _error = error;
            _timer = new WatchTimer(static again => ((AbandonTimer)again!).Run(), this);
        }

        public void Wait() => _timer.Change(_pause, Timeout.InfiniteTimeSpan);

        private void Run()
        {
            if (_run.AbandonAll(_status, _error))
            {
                _timer.Dispose();
                return;
            }

            _pause = _pause < Longest / 2 ? 2 * _pause : Longest;
            Wait();
        }
    }
}

/// <summary>
/// The clock of a worker's items: when the running one has to have ended, the token that tells it so, and the timer. The worker has one timer, which stays on
/// while it works and checks the deadlines of whatever runs when it fires, so an item costs none.
/// </summary>
/// <remarks>The worker sets it, and timers read it: the deadline last, so that who sees it sees the rest.</remarks>
internal struct ItemClock()
{
    /// <summary>Used in place of a deadline: the attempt has begun, but no thread has read the clock for it yet. See <see cref="ItemGuard.SeenAt"/>.</summary>
    public const long NotSet = long.MinValue;

    /// <summary>Used in place of a deadline: there is none.</summary>
    public const long Never = long.MaxValue;

    private ItemTokens? _tokens;
    private ITimer? _timer;

    /// <summary>When the attempt's time limit passes, as a timestamp of the run's clock; or <see cref="NotSet"/>.</summary>
    public long Deadline;

    /// <summary>When the item's own time limit, which covers all its attempts, passes. Only valid while <see cref="Deadline"/> is set.</summary>
    public long ItemDeadline = Never;

    /// <summary>
    /// The item's own token. It is cancelled when the item's time limit passes or the run stops. See <see cref="PumpSettings.SharesTokens"/>.
    /// </summary>
    public CancellationTokenSource? Stop;

    /// <summary>The timer, for the timer's own call and for who gives the worker up. The end of the run may just end it.</summary>
    public readonly ITimer? TimerNow => Volatile.Read(in _timer);

    /// <summary>An attempt begins: gives it a token and a deadline, its own limit or the item's, whichever comes first.</summary>
    /// <param name="run">The run.</param>
    /// <param name="worker">The worker, for its timer.</param>
    /// <param name="repetition">What the item brought along, if it comes back.</param>
    /// <returns>False if the item's time has already passed.</returns>
    public bool TryStart(Pump run, PumpWorker worker, Repetition? repetition)
    {
        if (run.SeesStarts && repetition is null && _timer is not null)
        {
            // Most items end before anything needs to know when they began.
            Stop = NextToken(run);
            Volatile.Write(ref Deadline, NotSet);
            return true;
        }

        return TryStartNow(run, worker, repetition);
    }

    private bool TryStartNow(Pump run, PumpWorker worker, Repetition? repetition)
    {
        long now = run.Time.GetTimestamp();
        Set(now, run.Limits, repetition);
        if (now >= ItemDeadline)
        {
            return false;
        }

        if (_tokens is null)
        {
            _tokens = new ItemTokens();
            run.AddTokens(_tokens);
        }

        Stop = NextToken(run);
        if (_timer is null)
        {
            StartTimer(run, worker);
        }
        else if (repetition is not null)
        {
            // The remaining time of an item that comes back may be shorter than any limit.
            _timer.Change(ItemLimits.RoundUp(run.Time.GetElapsedTime(now, Deadline)), Timeout.InfiniteTimeSpan);
        }

        return true;
    }

    // An item that was given up has left its token, which may be cancelled later than this, to the worker that ran it. Its successor begins with a new one.
    private readonly CancellationTokenSource NextToken(Pump run) =>
        run.Settings.SharesTokens && Stop is { IsCancellationRequested: false } ? Stop : _tokens!.Next();

    /// <summary>Sets the deadlines of an attempt that began at a given time. In this order: the item's is valid when that of the attempt is set.</summary>
    public void Set(long start, in ItemLimits limits, Repetition? repetition)
    {
        ItemDeadline = repetition?.DeadlineAt(start) ?? limits.OfItem(start);
        Volatile.Write(ref Deadline, Math.Min(ItemDeadline, limits.OfAttempt(start)));
    }

    public void StartTimer(Pump run, PumpWorker worker)
    {
        _timer = WatchTime.CreateTimer(run.Time, static worker => ((PumpWorker)worker!).CheckDeadline(), worker);
        _timer.Change(run.Limits.Shortest, Timeout.InfiniteTimeSpan);
    }

    public void EndTimer()
    {
        _timer?.Dispose();
        _timer = null;
    }

    /// <summary>The worker, which is new, goes on with the item and the tokens of one that was given up.</summary>
    public void Continue(in ItemClock orphan)
    {
        ItemDeadline = orphan.ItemDeadline;
        _tokens = orphan._tokens;
    }
}

/// <summary>
/// The tokens of a worker's timed items. Each item has its own source, because user code may keep a token for longer than its item runs. Then only the run may
/// cancel it, and never the time limit of the worker's next item.
/// </summary>
/// <remarks>
/// Linking each source with the run's token would cost a registration per item, under a lock that all workers share, and could be undone only by forgetting
/// those whose tokens are still in use. So the sources are in blocks. Each source knows its block and so keeps it alive while its token is in use. The worker
/// keeps weak references to the blocks, and the run's stop cancels what is left of them.
/// </remarks>
internal sealed class ItemTokens
{
    private const int FewestBlocks = 16;

    // The blocks before this one, created with the second. In a small fan-out, most workers have one item, so the first block holds
    // one source, and each later one four times as many as the one before.
    private List<WeakReference<Block>>? _ended;
    private Block _block = new([]);
    private int _count;
    private int _pruneAt = FewestBlocks;
    private bool _stopped;

    /// <summary>The next in the list of the run, which stops them all; see <see cref="Pump.AddTokens"/>.</summary>
    public ItemTokens? NextOfRun;

    /// <summary>How many blocks of ended items are still known.</summary>
    public int Blocks
    {
        get
        {
            lock (this)
            {
                return _ended?.Count ?? 0;
            }
        }
    }

    /// <summary>Creates the source of the next item. Only for the worker.</summary>
    public CancellationTokenSource Next()
    {
        if (_count > _block.More.Length)
        {
            Begin();
        }

        Source source = new(_block);
        Volatile.Write(ref _count == 0 ? ref _block.First : ref _block.More[_count - 1], source);
        _count++;

        // In this order; see StopAll.
        if (Volatile.Read(ref _stopped))
        {
            source.Cancel();
        }

        return source;
    }

    private void Begin()
    {
        lock (this)
        {
            _ended ??= [];
            if (_ended.Count >= _pruneAt)
            {
                _ended.RemoveAll(static block => !block.TryGetTarget(out _));
                _pruneAt = Math.Max(FewestBlocks, 2 * _ended.Count);
            }

            _ended.Add(new WeakReference<Block>(_block));
            _block = new Block(new Source?[Math.Min(Block.Most, 4 * (_block.More.Length + 1)) - 1]);
            _count = 0;
        }
    }

    /// <summary>The run has stopped: cancels the token of the running item, and those tokens of ended items that are still in use.</summary>
    /// <param name="later">Whether the user's callbacks run on other threads.</param>
    public void StopAll(bool later)
    {
        // Either the worker sees this before its next item begins, or that item's source is seen here. The worker needs no barrier.
        Volatile.Write(ref _stopped, true);
        Interlocked.MemoryBarrierProcessWide();
        List<Block> blocks;
        lock (this)
        {
            blocks = [_block];
            foreach (WeakReference<Block> ended in _ended ?? [])
            {
                if (ended.TryGetTarget(out Block? block))
                {
                    blocks.Add(block);
                }
            }
        }

        foreach (Block block in blocks)
        {
            Cancel(ref block.First, later);
            foreach (ref Source? source in block.More.AsSpan())
            {
                Cancel(ref source, later);
            }
        }
    }

    private static void Cancel(ref Source? source, bool later)
    {
        if (Volatile.Read(ref source) is not { } made)
        {
            return;
        }

        if (later)
        {
            SafeCancel.Later(made);
        }
        else
        {
            SafeCancel.Now(made);
        }
    }

    /// <summary>Sources that are kept alive as long as any of their tokens.</summary>
    private sealed class Block(Source?[] more)
    {
        // So many that a weak reference costs an item almost nothing, and so few that a token in use keeps little alive.
        public const int Most = 32;

        public readonly Source?[] More = more;
        public Source? First;
    }

    [SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
        Justification = "It has neither timer nor link; user code may hold its token for longer than the item.")]
    private sealed class Source(Block block) : CancellationTokenSource
    {
        public Block Block { get; } = block;
    }
}

/// <summary>How long an item of a run may take, and each of its attempts; as timestamps of the run's clock.</summary>
internal readonly struct ItemLimits(TimeProvider time, TimeSpan? item, TimeSpan? attempt)
{
    public TimeSpan? Item => item;

    public TimeSpan? Attempt => attempt;

    /// <summary>No attempt that starts from now on is due before this time has passed, except that of an item that comes back.</summary>
    public TimeSpan Shortest => item < attempt || attempt is null ? item ?? TimeSpan.MaxValue : attempt.Value;

    /// <summary>When an item is due that began at a given time.</summary>
    public long OfItem(long start) => After(start, item);

    /// <summary>When an attempt is due that began at a given time.</summary>
    public long OfAttempt(long start) => After(start, attempt);

    /// <summary>Whole milliseconds, upwards: a timer that rounds to zero would spin.</summary>
    public static TimeSpan RoundUp(TimeSpan span) => TimeSpan.FromMilliseconds(Math.Max(0, Math.Ceiling(span.TotalMilliseconds)));

    private long After(long start, TimeSpan? limit) => limit is { } span ? start + (long)(span.TotalSeconds * time.TimestampFrequency) : long.MaxValue;
}
