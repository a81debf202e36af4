namespace Weir.Tables.SelfChecks;

/// <summary>What one check found.</summary>
/// <param name="Goal">What should have come out.</param>
/// <param name="Table">What came out, as a table in Markdown.</param>
/// <param name="IsMet">Whether it is what should have come out.</param>
internal sealed record CheckSection(string Goal, string Table, bool IsMet);
