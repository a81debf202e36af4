namespace Weir.Lab.Trials;

/// <summary>One step of a run: the warm-up of an arm, or one measured window of it.</summary>
/// <param name="Arm">The arm that runs.</param>
/// <param name="Round">The round, from 1; 0 is the warm-up.</param>
/// <param name="Rounds">How many rounds there are.</param>
/// <param name="Index">How many steps came before, over all arms.</param>
/// <param name="Count">How many steps the run has.</param>
internal readonly record struct TrialStep(TrialArm Arm, int Round, int Rounds, int Index, int Count)
{
    /// <summary>The place of a window among all windows of the run, from 1: the warm-ups come before all of them.</summary>
    public int Place => Index + 1 - (Count / (Rounds + 1));
}
