namespace Weir.Lab.Suites.Figures;

/// <summary>The measured arms of one case: a suite's category with one set of parameters.</summary>
/// <param name="Name">The parameters and the category.</param>
/// <param name="Items">How many items a run works on.</param>
/// <param name="Arms">The arms, the baseline first.</param>
/// <param name="Goals">The goals for this case.</param>
internal sealed record CaseResult(string Name, int Items, IReadOnlyList<ArmResult> Arms, IReadOnlyList<Goal> Goals)
{
    public ArmResult Baseline => Arms.Single(static arm => arm.IsBaseline);

    public ArmResult this[string name] => Arms.Single(arm => arm.Name == name);

    /// <summary>How much longer one arm takes than another, in nanoseconds a run, taken round by round.</summary>
    public static Spread AddedTime(ArmResult arm, ArmResult against)
    {
        Dictionary<int, double> others = against.Samples.ToDictionary(static sample => sample.Round, static sample => sample.Nanoseconds);
        return Spread.OfAny(arm.Samples.Where(sample => others.ContainsKey(sample.Round)).Select(sample => sample.Nanoseconds - others[sample.Round]));
    }

    /// <summary>The ratio of two arms' times, taken round by round: what disturbs a whole round cancels out.</summary>
    public static Spread TimeRatio(ArmResult arm, ArmResult against)
    {
        Dictionary<int, double> others = against.Samples.ToDictionary(static sample => sample.Round, static sample => sample.Nanoseconds);
        return Spread.OfAny(arm.Samples.Where(sample => others.ContainsKey(sample.Round)).Select(sample => sample.Nanoseconds / others[sample.Round]));
    }
}
