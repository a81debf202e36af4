namespace Weir.Lab.Trials;

/// <summary>Tells of each step of a run, whichever arm makes it.</summary>
internal sealed class TrialSteps(int rounds, int count, ITrialObserver? observer)
{
    private int _done;

    public TrialStep Start(TrialArm arm, int round)
    {
        TrialStep step = new(arm, round, rounds, _done++, count);
        observer?.Started(step);
        return step;
    }

    public void End(TrialStep step, RoundRecord? round) => observer?.Ended(step, round);
}
