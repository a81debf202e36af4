using Microsoft.Extensions.Logging;

namespace Weir.Logging;

/// <summary>The log lines. Their event ids are never given to another line.</summary>
internal static partial class Lines
{
    [LoggerMessage(1, LogLevel.Debug, "{Operation} {OperationName} starts, over {TotalItems} items.")]
    public static partial void RunStarted(ILogger logger, string operation, string operationName, int? totalItems);

    [LoggerMessage(
        2,
        LogLevel.Information,
        "{Operation} {OperationName} has ended ({Outcome}): {Succeeded} items succeeded, {FailedOrCancelled} did not, {Retries} retries, {Seconds} s.")]
    public static partial void RunEnded(
        ILogger logger, string operation, string operationName, string outcome, long succeeded, long failedOrCancelled, long retries, double seconds);

    [LoggerMessage(
        3,
        LogLevel.Error,
        "{Operation} {OperationName} has failed: {Succeeded} items succeeded, {FailedOrCancelled} did not, {Retries} retries, {Seconds} s.")]
    public static partial void RunFailed(
        ILogger logger, Exception error, string operation, string operationName, long succeeded, long failedOrCancelled, long retries, double seconds);

    [LoggerMessage(
        4, LogLevel.Information, "{Operation} {OperationName}: attempt {Attempt} of item {Index} has failed, and the next comes in {DelaySeconds} s.")]
    public static partial void Retrying(
        ILogger logger, Exception error, string operation, string operationName, long index, int attempt, double delaySeconds);

    [LoggerMessage(5, LogLevel.Warning, "{Operation} {OperationName}: item {Index} has failed.")]
    public static partial void ItemFailed(ILogger logger, Exception? error, string operation, string operationName, long index);

    [LoggerMessage(6, LogLevel.Warning, "{Operation} {OperationName}: item {Index} has passed its time limit and was given up.")]
    public static partial void ItemTimedOut(ILogger logger, Exception? error, string operation, string operationName, long index);

    [LoggerMessage(7, LogLevel.Warning, "The circuit {Circuit} has opened.")]
    public static partial void CircuitOpened(ILogger logger, string circuit);

    [LoggerMessage(8, LogLevel.Information, "The circuit {Circuit} is half-open.")]
    public static partial void CircuitHalfOpened(ILogger logger, string circuit);

    [LoggerMessage(9, LogLevel.Information, "The circuit {Circuit} has closed.")]
    public static partial void CircuitClosed(ILogger logger, string circuit);

    [LoggerMessage(10, LogLevel.Debug, "The limit of {OperationName} has changed from {From} to {To} items.")]
    public static partial void LimitChanged(ILogger logger, string operationName, int from, int to);

    [LoggerMessage(
        11, LogLevel.Warning, "{Operation} {OperationName}: item {Index} was refused: {Limit} calls run, and {MaxWaiting} others wait for their places.")]
    public static partial void ItemRefused(ILogger logger, string operation, string operationName, long index, int limit, int maxWaiting);

    [LoggerMessage(
        12, LogLevel.Warning, "{Operation} {OperationName}: an item has waited {Seconds} s at its {Limit}, and so have {Others} others since the last line.")]
    public static partial void WaitedLong(ILogger logger, string operation, string operationName, double seconds, string limit, int others);

    [LoggerMessage(13, LogLevel.Warning, "{OperationName}: item {Id} of {Source} was stored as a dead letter after {Attempts} attempts ({Reason}).")]
    public static partial void DeadLettered(ILogger logger, string operationName, string id, string source, int attempts, string reason);

    [LoggerMessage(14, LogLevel.Warning, "{OperationName}: a call to read, acknowledge or store has failed, and is repeated.")]
    public static partial void HostFault(ILogger logger, Exception error, string operationName);

    [LoggerMessage(
        15, LogLevel.Warning, "{Operation} {OperationName}: {Waiting} items wait at their {Limit}, the first of them for {Seconds} s now.")]
    public static partial void StillWaiting(ILogger logger, string operation, string operationName, int waiting, string limit, double seconds);
}
