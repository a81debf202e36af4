using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Weir.Hosting.Tests.Support;

/// <summary>Keeps the texts of the workers' log lines.</summary>
internal sealed class KeptTexts : ILoggerProvider, ILogger
{
    public ConcurrentQueue<string> All { get; } = new();

    public ILogger CreateLogger(string categoryName) =>
        categoryName == "Weir.Worker" ? this : Microsoft.Extensions.Logging.Abstractions.NullLogger.Instance;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        All.Enqueue(formatter(state, exception));

    public void Dispose()
    {
    }
}
