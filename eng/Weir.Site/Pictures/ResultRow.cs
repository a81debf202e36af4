namespace Weir.Site.Pictures;

/// <summary>A row of a page of results: how long an arm takes for a run, in seconds.</summary>
/// <param name="Suite">The class of benchmarks, as the page names it.</param>
/// <param name="Case">The settings of the case; empty if the suite has one case only.</param>
/// <param name="Arm">What was measured.</param>
/// <param name="Median">Of all rounds.</param>
/// <param name="Least">Of all rounds.</param>
/// <param name="Most">Of all rounds.</param>
public sealed record ResultRow(string Suite, string Case, string Arm, double Median, double Least, double Most);
