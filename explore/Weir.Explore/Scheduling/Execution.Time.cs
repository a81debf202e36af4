namespace Weir.Explore.Scheduling;

/// <content>When time moves, and stores become visible.</content>
internal sealed partial class Execution
{
    private const int MostStepsInARow = 1_000;

    private ControlledThread? _lastStepped;
    private int _stepsInARow;
    private long _now;

    /// <summary>The time of the schedule, in ticks.</summary>
    public long Now => (long)Learn((ulong)_now);

    /// <summary>The time, for what is no part of the program under test.</summary>
    public long Ticks => _now;

    /// <summary>A thread that moves the time whenever it is chosen. The others come first until each has made a step.</summary>
    private void MoveTimeAgain() => Repeat("the next timer", "a timer", () => NextTime() != long.MaxValue, () => MoveTime());

    /// <summary>A thread that shows the first of the stores to the others whenever it is chosen.</summary>
    private void ShowStores() => Repeat("a store buffer", "a store", () => Stores!.Any, Stores!.ShowFirst);

    private void Repeat(string site, string what, Func<bool> canAct, Action act)
    {
        ControlledThread me = ControlledThread.Current!;
        while (true)
        {
            me.Site = site;
            me.Block(what, () => !_isDraining && canAct());
            act();
            me.Yield();
        }
    }

    private long NextTime() => Timers.Select(static t => t.DueAt).Concat(_threads.Select(static t => t.WakeAt)).Append(long.MaxValue).Min();

    private void FireTimers()
    {
        while (Timers.Count > 0 && Timers.MinBy(static t => t.DueAt) is { } first && first.DueAt <= _now)
        {
            first.Fire();
        }
    }

    private bool MoveTime()
    {
        long next = NextTime();
        if (next == long.MaxValue)
        {
            return false;
        }

        _now = Math.Max(_now, next);
        FireTimers();
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
