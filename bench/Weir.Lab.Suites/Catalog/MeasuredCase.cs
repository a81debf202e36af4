namespace Weir.Lab.Suites.Catalog;

/// <summary>One case to measure: the arms of one category of a suite whose parameters are set.</summary>
internal sealed record MeasuredCase(Suite Suite, string Name, IReadOnlyList<Arm> Arms)
{
    /// <summary>The suite's goals that speak of these arms.</summary>
    public IReadOnlyList<Goal> Goals { get; } = [.. Suite.Goals.Where(goal => goal.Arms.All(name => Arms.Any(arm => arm.Name == name)))];
}
