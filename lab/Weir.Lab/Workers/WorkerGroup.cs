namespace Weir.Lab.Workers;

/// <summary>Some workers that do the same.</summary>
/// <param name="Name">The name, different from that of any other group.</param>
/// <param name="Workers">How many workers. At least 1.</param>
public sealed record WorkerGroup(string Name, int Workers);
