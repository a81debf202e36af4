namespace Weir.Tables.Servers.Turns;

/// <summary>What one pass of an arm took for a kind of work.</summary>
/// <param name="Work">The kind of work.</param>
/// <param name="Items">How many items it did.</param>
/// <param name="Time">How long it took.</param>
/// <param name="Check">What must be the same for all arms, since they did the same work.</param>
internal sealed record Pass(string Work, long Items, TimeSpan Time, long Check);
