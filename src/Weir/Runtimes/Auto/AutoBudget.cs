namespace Weir.Runtimes;

/// <summary>The most that one call may use.</summary>
/// <param name="Threads">Threads busy with synchronous work, unless it blocks them.</param>
/// <param name="InFlight">Items in flight.</param>
internal readonly record struct AutoBudget(int Threads, int InFlight);
