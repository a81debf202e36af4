using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Weir.Logging.Tests;

/// <summary>Keeps log lines with their fields and the fields of their scopes. On request it throws at each call.</summary>
internal sealed class KeptLines : ILoggerProvider, ISupportExternalScope
{
    private IExternalScopeProvider _scopes = new LoggerExternalScopeProvider();

    public ConcurrentQueue<KeptLine> All { get; } = new();

    public bool Throws { get; init; }

    public ILogger CreateLogger(string categoryName) => new Kept(this, categoryName);

    public void SetScopeProvider(IExternalScopeProvider scopeProvider) => _scopes = scopeProvider;

    public void Dispose()
    {
    }

    private sealed class Kept(KeptLines lines, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull =>
            lines.Throws ? throw new InvalidTimeZoneException() : lines._scopes.Push(state);

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            Dictionary<string, object?> fields = [];
            Add(state);
            lines._scopes.ForEachScope(static (scope, add) => add(scope), (Action<object?>)(scope => Add(scope)));
            lines.All.Enqueue(new KeptLine(category, logLevel, eventId.Id, formatter(state, exception), exception, fields));
            if (lines.Throws)
            {
                throw new InvalidTimeZoneException();
            }

            void Add(object? pairs)
            {
                foreach ((string key, object? value) in pairs as IEnumerable<KeyValuePair<string, object?>> ?? [])
                {
                    fields[key] = value;
                }
            }
        }
    }
}
