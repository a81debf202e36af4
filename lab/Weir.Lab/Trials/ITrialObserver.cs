namespace Weir.Lab.Trials;

/// <summary>Receives the progress of a run. It is called between windows, never inside one, so it may draw.</summary>
internal interface ITrialObserver
{
    /// <summary>A step begins.</summary>
    void Started(TrialStep trialStep);

    /// <summary>A step has ended.</summary>
    /// <param name="trialStep">The step.</param>
    /// <param name="round">What was measured; <see langword="null"/> for a warm-up.</param>
    void Ended(TrialStep trialStep, RoundRecord? round);
}
