namespace Weir.Tables.SelfChecks;

/// <summary>Two comparisons: one of the same work, and one with work that is a tenth longer.</summary>
/// <param name="Name">What the names of its results begin with.</param>
/// <param name="Same">The command for the one: <c>compare</c> and its arguments.</param>
/// <param name="Slower">The command for the other.</param>
internal sealed record VerdictPair(string Name, IReadOnlyList<string> Same, IReadOnlyList<string> Slower);
