using System.Collections;
using Microsoft.Extensions.Logging;

namespace Weir.Logging;

/// <summary>
/// Adds fields to each line that its sentence does not have: a name that may be empty, or a number that the sentence has as words. They come before the
/// sentence's own, the last of which is the template, where readers look for it.
/// </summary>
internal sealed class FieldLogger(ILogger inner, params KeyValuePair<string, object?>[] fields) : ILogger
{
    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => inner.BeginScope(state);

    public bool IsEnabled(LogLevel logLevel) => inner.IsEnabled(logLevel);

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        if (inner.IsEnabled(logLevel))
        {
            inner.Log(logLevel, eventId, new Line<TState>(state, formatter, fields), exception, static (line, error) => line.Text(error));
        }
    }

    private sealed class Line<TState>(TState state, Func<TState, Exception?, string> formatter, KeyValuePair<string, object?>[] fields)
        : IReadOnlyList<KeyValuePair<string, object?>>
    {
        private readonly IReadOnlyList<KeyValuePair<string, object?>> _own = state as IReadOnlyList<KeyValuePair<string, object?>> ?? [];

        public int Count => fields.Length + _own.Count;

        public KeyValuePair<string, object?> this[int index] => index < fields.Length ? fields[index] : _own[index - fields.Length];

        public string Text(Exception? error) => formatter(state, error);

        public IEnumerator<KeyValuePair<string, object?>> GetEnumerator() => fields.Concat(_own).GetEnumerator();

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

        public override string ToString() => Text(null);
    }
}
