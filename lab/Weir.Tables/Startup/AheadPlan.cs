namespace Weir.Tables.Startup;

/// <summary>What is measured once the builds are there.</summary>
/// <typeparam name="TReading">What one process measures.</typeparam>
/// <param name="Starts">What starts a process and gives its exit code and what it printed, by the key of the arm, in order.</param>
/// <param name="Render">Writes the page: of where it was measured, the readings of each arm, and the page as it is now.</param>
internal sealed record AheadPlan<TReading>(
    IReadOnlyDictionary<string, Func<Task<(int ExitCode, string Output)>>> Starts, Func<string, Dictionary<string, List<TReading>>, string, string> Render);
