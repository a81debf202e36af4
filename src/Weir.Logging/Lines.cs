using System.Collections;
using System.Globalization;
using Microsoft.Extensions.Logging;

namespace Weir.Logging;

/// <summary>The log lines. Their event ids are never given to another line.</summary>
/// <remarks>
/// The parts of a sentence that depend on a name or a number are made by <see cref="Words"/>. The name or the number itself is a field that a
/// <see cref="FieldLogger"/> adds.
/// </remarks>
internal static partial class Lines
{
    [LoggerMessage(1, LogLevel.Debug, "{Run} starts, over {Items}.")]
    public static partial void RunStarted(ILogger logger, string run, string items);

    [LoggerMessage(
        2,
        LogLevel.Information,
        "{Run} has ended ({Outcome}) after {Seconds} s. Items succeeded: {Succeeded}, failed: {Failed}, cancelled: {Cancelled}, retries: {Retries}.")]
    public static partial void RunEnded(
        ILogger logger, string run, string outcome, long succeeded, long failed, long cancelled, long retries, double seconds);

    [LoggerMessage(
        3,
        LogLevel.Error,
        "{Run} has failed after {Seconds} s. Items succeeded: {Succeeded}, failed: {Failed}, cancelled: {Cancelled}, retries: {Retries}.")]
    public static partial void RunFailed(
        ILogger logger, Exception error, string run, long succeeded, long failed, long cancelled, long retries, double seconds);

    [LoggerMessage(4, LogLevel.Information, "{Run}: attempt {Attempt} of item {Index} has failed, and the next comes in {DelaySeconds} s.")]
    public static partial void Retrying(ILogger logger, Exception error, string run, long index, int attempt, double delaySeconds);

    [LoggerMessage(5, LogLevel.Warning, "{Run}: item {Index} has failed.")]
    public static partial void ItemFailed(ILogger logger, Exception? error, string run, long index);

    [LoggerMessage(6, LogLevel.Warning, "{Run}: item {Index} has passed its time limit and was given up.")]
    public static partial void ItemTimedOut(ILogger logger, Exception? error, string run, long index);

    [LoggerMessage(7, LogLevel.Warning, "{Which} has opened.")]
    public static partial void CircuitOpened(ILogger logger, string which);

    [LoggerMessage(8, LogLevel.Information, "{Which} is half-open.")]
    public static partial void CircuitHalfOpened(ILogger logger, string which);

    [LoggerMessage(9, LogLevel.Information, "{Which} has closed.")]
    public static partial void CircuitClosed(ILogger logger, string which);

    [LoggerMessage(10, LogLevel.Debug, "The concurrency limit of {Run} has changed from {From} to {To}.")]
    public static partial void LimitChanged(ILogger logger, string run, int from, int to);

    [LoggerMessage(
        11, LogLevel.Warning, "{Run}: item {Index} was refused, because the concurrency limit is full. Calls at most: {Limit}, waiting: {MaxWaiting}.")]
    public static partial void ItemRefused(ILogger logger, string run, long index, int limit, int maxWaiting);

    [LoggerMessage(12, LogLevel.Warning, "{Run}: an item has waited {Seconds} s at its {Limit}{AndOthers}.")]
    public static partial void WaitedLong(ILogger logger, string run, double seconds, string limit, string andOthers);

    [LoggerMessage(
        13,
        LogLevel.Warning,
        "{Host}: item {Id} of {Source} was stored as a dead letter ({Reason}). Attempts: {Attempts}, calls of the processor in the last one: {Calls}.")]
    public static partial void DeadLettered(ILogger logger, string host, string id, string source, string reason, int attempts, int calls);

    [LoggerMessage(14, LogLevel.Warning, "{Host}: a call to read, acknowledge or store has failed, and is repeated.")]
    public static partial void HostFault(ILogger logger, Exception error, string host);

    [LoggerMessage(15, LogLevel.Warning, "{Run}: {WaitAtTheir} {Limit}, the first for {Seconds} s now.")]
    public static partial void StillWaiting(ILogger logger, string run, string waitAtTheir, string limit, double seconds);

    [LoggerMessage(16, LogLevel.Warning, "{Host}: attempt {Attempt} of item {Id} of {Source} has failed, and the next comes in {DelaySeconds} s.")]
    public static partial void AttemptFailed(ILogger logger, Exception error, string host, string id, string source, int attempt, double delaySeconds);

    [LoggerMessage(17, LogLevel.Warning, "{Host}: attempt {Attempt} of item {Id} of {Source} has failed. It was the last.")]
    public static partial void LastAttemptFailed(ILogger logger, Exception error, string host, string id, string source, int attempt);
}

/// <summary>The parts of sentences that depend on a name, which nobody need give, or on a number.</summary>
internal static class Words
{
    /// <summary>The operator or the runtime's method, and the run's name if it has one.</summary>
    public static string Run(string operation, string name) => name.Length == 0 ? operation : $"{operation} {name}";

    /// <summary>A run whose operator is not known.</summary>
    public static string SomeRun(string name) => name.Length == 0 ? "a run" : name;

    public static string Host(string name) => name.Length == 0 ? "A work host" : name;

    public static string Circuit(string name) => name.Length == 0 ? "A circuit" : $"The circuit {name}";

    public static string Items(int? count) => count switch
    {
        null => "an unknown number of items",
        1 => "1 item",
        { } number => string.Create(CultureInfo.InvariantCulture, $"{number} items"),
    };

    public static string AndOthers(int others) => others switch
    {
        0 => "",
        1 => ", and so has 1 other since the last line",
        _ => string.Create(CultureInfo.InvariantCulture, $", and so have {others} others since the last line"),
    };

    public static string WaitAtTheir(int count) =>
        count == 1 ? "1 item waits at its" : string.Create(CultureInfo.InvariantCulture, $"{count} items wait at their");
}

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
