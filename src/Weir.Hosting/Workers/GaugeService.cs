using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace Weir.Hosting;

/// <summary>Has gauges of a queue or a change stream from the start of the application to its end.</summary>
internal sealed class GaugeService(string name, IServiceProvider services, Func<IServiceProvider, IWorkStatistics> find)
    : IHostedService, IDisposable
{
    private readonly ILogger _logger = new SafeLogger(services.GetRequiredService<ILoggerFactory>().CreateLogger("Weir.Gauges"));
    private WorkGauges? _gauges;
    private bool _hasFailed;

    public string Name => name;

    /// <summary>The limits of the health check.</summary>
    public WeirGaugeOptions Limits { get; private set; } = new();

    public WorkStatistics? Latest => _gauges?.Latest;

    public Exception? Fault => _gauges?.Fault;

    public Task StartAsync(CancellationToken cancellationToken)
    {
        // Wrong options or a missing queue fail the start.
        Limits = services.GetRequiredService<IOptionsMonitor<WeirGaugeOptions>>().Get(name);
        _gauges = WorkGauges.Start(find(services), new WorkGaugeOptions
        {
            Name = name,
            Interval = Limits.Interval,
            ReadingTimeout = Limits.ReadingTimeout,
            OnFault = Failed,
            OnReading = Succeeded,
            TimeProvider = services.GetService<TimeProvider>() ?? TimeProvider.System,
        });
        return Task.CompletedTask;
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        if (_gauges is { } gauges)
        {
            await gauges.DisposeAsync().AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    // For an application that ends without a stop, such as one that could not start. Nobody waits for a reading then.
    public void Dispose() => _ = _gauges?.DisposeAsync().AsTask();

    // Only one reading at a time calls these.
    private void Failed(Exception fault)
    {
        if (!_hasFailed)
        {
            _hasFailed = true;
            GaugeLog.Unreadable(_logger, name, fault);
        }
    }

    private void Succeeded(WorkStatistics statistics)
    {
        if (_hasFailed)
        {
            _hasFailed = false;
            GaugeLog.Readable(_logger, name);
        }
    }
}

/// <summary>The log lines of gauges.</summary>
internal static partial class GaugeLog
{
    [LoggerMessage(
        1, LogLevel.Warning, "The gauges of {Gauges} cannot be read, and have no values until they can. Further failures are not logged until then.")]
    public static partial void Unreadable(ILogger logger, string gauges, Exception fault);

    [LoggerMessage(2, LogLevel.Information, "The gauges of {Gauges} can be read again.")]
    public static partial void Readable(ILogger logger, string gauges);
}
