namespace Weir.Explore.Scheduling;

/// <summary>Ends a controlled thread whose schedule is over.</summary>
internal sealed class StopException() : Exception("The schedule is over.");
