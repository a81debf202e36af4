namespace Weir.Cli.Commands.Load.Watch;

/// <summary>What an arm was doing at one look.</summary>
/// <param name="Rate">Items per second since the look before.</param>
/// <param name="InFlight">Items inside their work.</param>
/// <param name="P50">Half of the items of this window took at most so long.</param>
/// <param name="P99">99 in 100 of them did.</param>
/// <param name="Max">All of them did.</param>
/// <param name="Errors">Items of this window that failed.</param>
internal sealed record WatchReading(double Rate, long InFlight, TimeSpan P50, TimeSpan P99, TimeSpan Max, long Errors);
