namespace Weir.Cli.Commands.Load.Watch;

/// <summary>The state of an arm at one reading.</summary>
/// <param name="Rate">Items per second since the previous reading.</param>
/// <param name="InFlight">Items inside their work.</param>
/// <param name="P50">The median latency of the items of this window.</param>
/// <param name="P99">The 99th percentile of their latency.</param>
/// <param name="Max">The maximum of their latency.</param>
/// <param name="Errors">Items of this window that failed.</param>
internal sealed record WatchReading(double Rate, long InFlight, TimeSpan P50, TimeSpan P99, TimeSpan Max, long Errors);
