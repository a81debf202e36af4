namespace Weir.Explore.Scheduling;

/// <content>When time moves, and stores become visible.</content>
internal sealed partial class Execution
{
    private const int MostStepsInARow = 1_000;

    private ControlledThread? _lastStepped;
    private int _stepsInARow;
    private long _now;

    /// <summary>The time of the schedule, in ticks.</summary>
    public long Now
    {
        get
        {
            Learn((ulong)_now);
            return _now;
        }
    }

    /// <summary>The time, for what is no part of the program under test.</summary>
    public long Ticks => _now;

    /// <summary>A thread that moves the time whenever it is chosen. The others come first until each has made a step.</summary>
    private void MoveTimeAgain()
    {
        ControlledThread me = ControlledThread.Current!;
        while (true)
        {
            me.Site = "the next timer";
            me.Block("a timer", () => !_isDraining && NextTime() != long.MaxValue);
            MoveTime();
            me.Yield();
        }
    }

    /// <summary>A thread that shows the first of the stores to the others whenever it is chosen.</summary>
    private void ShowStores()
    {
        ControlledThread me = ControlledThread.Current!;
        while (true)
        {
            me.Site = "a store buffer";
            me.Block("a store", () => !_isDraining && Stores!.Any);
            Stores!.ShowFirst();
            Yield(me);
        }
    }

    private long NextTime()
    {
        long next = Timers.Next;
        foreach (ControlledThread thread in _threads)
        {
            next = Math.Min(next, thread.WakeAt);
        }

        return next;
    }

    private bool MoveTime()
    {
        long next = NextTime();
        if (next == long.MaxValue)
        {
            return false;
        }

        _now = Math.Max(_now, next);
        Timers.FireDue(_now);
        return true;
    }

    /// <summary>Many steps of one thread alone: it may spin with atomic operations for one that cannot go on before it stops.</summary>
    private bool IsSpinning(ControlledThread me)
    {
        _stepsInARow = me == _lastStepped ? _stepsInARow + 1 : 1;
        _lastStepped = me;
        return _stepsInARow % MostStepsInARow == 0;
    }
}
