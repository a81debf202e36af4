namespace Weir.Lab.Suites;

/// <summary>How a suite appears on the results page.</summary>
/// <param name="order">Its place on the page.</param>
/// <param name="title">Its heading.</param>
/// <param name="goal">What it has to show, in one sentence.</param>
[AttributeUsage(AttributeTargets.Class)]
public sealed class SuiteInfoAttribute(int order, string title, string goal) : Attribute
{
    /// <summary>The suite's place on the page.</summary>
    public int Order { get; } = order;

    /// <summary>The heading.</summary>
    public string Title { get; } = title;

    /// <summary>What the suite has to show.</summary>
    public string Goal { get; } = goal;

    /// <summary>The page that the suite is on.</summary>
    public SuiteSet Set { get; init; }

    /// <summary>Whether <c>ratios</c> leaves the suite out unless a filter names it, because its waits take minutes.</summary>
    public bool OnlyByName { get; init; }
}
