using System.Diagnostics;

namespace Weir.Core.Dispatch;

/// <summary>
/// A call that has suspended in a run whose items may all be in flight at once. Nothing but its end is left to wait for, so it needs no worker: the one that
/// made it goes on to the next item.
/// </summary>
/// <remarks>
/// It belongs to one run at a time and is used again by later ones. That is safe because it waits for a task, which calls its continuation exactly once, and
/// because a run lets go of its calls only when all of them have ended and no other thread can be looking at them. Otherwise nobody uses them again.
/// </remarks>
internal abstract class ParkedCall : PumpWork
{
    private Pump? _run;

    // Of the item, if it can be given up.
    private ItemWord _word;

    /// <summary>The index of its item.</summary>
    public long Index;

    protected sealed override Pump Run => _run!;

    protected sealed override bool RunsNoUserCode => true;

    /// <summary>When the item's time limit passes, as a timestamp of the run's clock, if it has one.</summary>
    public long Deadline { get; private set; }

    /// <summary>The item's own token, if it has one.</summary>
    public CancellationTokenSource? Stop { get; private set; }

    /// <summary>Gives the call to an item. Nothing after this needs memory.</summary>
    public void Begin(Pump run, long index)
    {
        Debug.Assert(_run is null, "A parked call belongs to one run at a time.");
        _ = Continuation;
        _run = run;
        Index = index;
    }

    /// <summary>Lets other threads give up the item from now on.</summary>
    public void Guard(long deadline, CancellationTokenSource? stop)
    {
        Deadline = deadline;
        Stop = stop;
        _word.Begin(ItemWord.Waiting);
    }

    /// <summary>Whether an item of the run waits here. Another thread may look at a call that already belongs to another run.</summary>
    /// <param name="run">The run.</param>
    /// <param name="word">What <see cref="TryGiveUp"/> needs.</param>
    public bool IsWaitingIn(Pump run, out long word)
    {
        // In this order: a later run sets the word after itself.
        word = _word.Value;
        return ItemWord.StateOf(word) == ItemWord.Waiting && Volatile.Read(ref _run) == run;
    }

    /// <summary>Takes the item away, unless it has just ended. The call is then never used again.</summary>
    public bool TryGiveUp(long word) => _word.TryMove(word, ItemWord.Abandoned);

    /// <summary>Ends the item, unless it was given up. Only for a call that is guarded.</summary>
    public bool TryEnd()
    {
        long word = _word.Value;
        if (ItemWord.StateOf(word) != ItemWord.Waiting || !_word.TryMove(word, ItemWord.Idle))
        {
            return false;
        }

        Stop = null;
        return true;
    }

    protected sealed override bool MayEnter() => true;

    protected sealed override void Lost(Exception error)
    {
        if (_run is { } run)
        {
            _run = null;
            run.LoseParked(this, error);
        }
    }

    protected sealed override void Drive()
    {
        // After its end, the call may already belong to another run.
        Pump run = _run!;
        _run = null;
        run.EndParked(this);
    }
}
