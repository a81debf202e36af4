namespace Weir.Tables.SelfChecks;

/// <summary>What one check found.</summary>
/// <param name="Goal">What should have come out.</param>
/// <param name="Table">What came out, as a table in Markdown.</param>
/// <param name="IsMet">Whether it is what should have come out.</param>
/// <param name="IsFit">Whether the machine was fit for the check meanwhile, as far as the check itself knows.</param>
/// <param name="NeedsQuiet">Whether a machine that is not quiet may be why it is not met. What must hold on any machine is then simply not met.</param>
internal sealed record CheckSection(string Goal, string Table, bool IsMet, bool IsFit = true, bool NeedsQuiet = true)
{
    /// <summary>The goal and the word on it, as a line of the page.</summary>
    public static string Judged(string goal, bool isMet, bool isFit) => $"Goal: {goal} {(isMet ? "Met." : isFit ? "**Not met.**" : "**INCONCLUSIVE.**")}";
}
