using Microsoft.Extensions.Logging;

namespace Weir.Hosting.Tests.Support;

/// <summary>A provider of loggers of which each call throws. It counts the calls of the workers.</summary>
internal sealed class ThrowingLoggers : ILoggerProvider, ILogger
{
    private int _calls;

    public int Calls => Volatile.Read(ref _calls);

    /// <summary>Those of the host itself work: it has no protection of its own.</summary>
    public ILogger CreateLogger(string categoryName) =>
        categoryName == "Weir.Worker" ? this : Microsoft.Extensions.Logging.Abstractions.NullLogger.Instance;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull =>
        throw new InvalidTimeZoneException();

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        Interlocked.Increment(ref _calls);
        throw new InvalidTimeZoneException();
    }

    public void Dispose()
    {
    }
}
