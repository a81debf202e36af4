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
    public static double[] AddedTimes(ArmResult arm, ArmResult against) => OfPairs(arm, against, Time, static (mine, theirs) => mine - theirs);

    /// <summary>The ratios of two arms' times, taken round by round: what disturbs a whole round cancels out.</summary>
    public static double[] TimeRatios(ArmResult arm, ArmResult against) => OfPairs(arm, against, Time, static (mine, theirs) => mine / theirs);

    /// <summary>The ratios of two arms' processor times, taken round by round. Neighbours on the machine disturb them less than times.</summary>
    public static double[] ProcessorRatios(ArmResult arm, ArmResult against) =>
        OfPairs(arm, against, static sample => sample.Nanoseconds * sample.Cores, static (mine, theirs) => mine / theirs);

    private static double Time(Sample sample) => sample.Nanoseconds;

    private static double[] OfPairs(ArmResult arm, ArmResult against, Func<Sample, double> figure, Func<double, double, double> value)
    {
        Dictionary<int, double> others = against.Samples.ToDictionary(static sample => sample.Round, figure);
        return [.. arm.Samples.Where(sample => others.ContainsKey(sample.Round)).Select(sample => value(figure(sample), others[sample.Round]))];
    }
}
