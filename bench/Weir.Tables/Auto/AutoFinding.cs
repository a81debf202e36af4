namespace Weir.Tables.Auto;

/// <summary>What was found for one kind of work.</summary>
internal sealed class AutoFinding
{
    public AutoFinding(AutoWork work, TrialReport report, (IReadOnlyList<AutoDecision> First, IReadOnlyList<AutoDecision> Last) decisions)
    {
        Work = work;
        Decisions = decisions;
        Fixed = [.. report.Arms.Where(static arm => arm.Name is not (AutoArms.Auto or AutoArms.Cold or AutoArms.Wide))];
        Best = Fixed.MaxBy(static arm => arm.Rate().Median)!;
        Auto = report.Arms.Single(static arm => arm.Name == AutoArms.Auto);
        Cold = report.Arms.Single(static arm => arm.Name == AutoArms.Cold);
        ToWide = RatioOf(Auto, report.Arms.Single(static arm => arm.Name == AutoArms.Wide));
        ToBest = RatioOf(Auto, Best);
        ColdToBest = RatioOf(Cold, Best);
    }

    public AutoWork Work { get; }

    /// <summary>The arms that choose nothing.</summary>
    public IReadOnlyList<ArmRecord> Fixed { get; }

    /// <summary>The quickest of them, by the median.</summary>
    public ArmRecord Best { get; }

    /// <summary>The auto runtime when it knows the processor from earlier calls.</summary>
    public ArmRecord Auto { get; }

    /// <summary>A new auto runtime for each call.</summary>
    public ArmRecord Cold { get; }

    /// <summary>The pace of the auto runtime as a share of the best fixed one's, over the rounds.</summary>
    public Spread ToBest { get; }

    /// <summary>The pace of the auto runtime as a share of the concurrent one's with as many items in flight as the auto runtime may have.</summary>
    public Spread ToWide { get; }

    /// <summary>The pace of the first call of a new auto runtime as a share of the best fixed one's.</summary>
    public Spread ColdToBest { get; }

    public (IReadOnlyList<AutoDecision> First, IReadOnlyList<AutoDecision> Last) Decisions { get; }

    private static Spread RatioOf(ArmRecord arm, ArmRecord best) => Spread.Of(arm.Counted.Zip(best.Counted, static (a, b) => a.Rate / b.Rate));
}
