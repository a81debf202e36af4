using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Weir.Hosting.Tests.Support;

/// <summary>Keeps the texts of the log lines of a category: of the workers, unless another is named.</summary>
internal sealed class KeptTexts(string category = "Weir.Worker") : ILoggerProvider, ILogger
{
    public ConcurrentQueue<string> All { get; } = new();

    public ILogger CreateLogger(string categoryName) =>
        categoryName == category ? this : Microsoft.Extensions.Logging.Abstractions.NullLogger.Instance;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
        All.Enqueue(formatter(state, exception));

    public void Dispose()
    {
    }
}
