namespace Weir.Explore.Scheduling;

/// <summary>One step of a schedule: which thread went on at which point.</summary>
internal readonly record struct TraceLine(int Id, string Name, string Site);
