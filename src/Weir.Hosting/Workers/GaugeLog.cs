using Microsoft.Extensions.Logging;

namespace Weir.Hosting;

/// <summary>The log lines of gauges.</summary>
internal static partial class GaugeLog
{
    [LoggerMessage(
        1, LogLevel.Warning, "The gauges of {Gauges} cannot be read, and have no values until they can. Further failures are not logged until then.")]
    public static partial void Unreadable(ILogger logger, string gauges, Exception fault);

    [LoggerMessage(2, LogLevel.Information, "The gauges of {Gauges} can be read again.")]
    public static partial void Readable(ILogger logger, string gauges);
}
