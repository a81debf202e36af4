using Microsoft.Extensions.Logging;

namespace Weir.Hosting;

/// <summary>The log lines of a worker. None has the value of an item in it.</summary>
internal static partial class WorkerLog
{
    [LoggerMessage(1, LogLevel.Information, "Worker {Worker} reads from {Source}.")]
    public static partial void Started(ILogger logger, string worker, string source);

    [LoggerMessage(
        2,
        LogLevel.Information,
        "Worker {Worker} has stopped. Items processed: {Succeeded}, kept for another attempt: {Redelivered}, dead letters: {DeadLettered}, "
        + "returned: {Returned}.")]
    public static partial void Stopped(ILogger logger, string worker, long succeeded, long redelivered, long deadLettered, long returned);

    [LoggerMessage(3, LogLevel.Warning, "Worker {Worker} could not open, read, acknowledge or store, and tries again.")]
    public static partial void Fault(ILogger logger, string worker, Exception fault);

    [LoggerMessage(4, LogLevel.Warning, "Worker {Worker} ends its running items.")]
    public static partial void Aborted(ILogger logger, string worker);

    [LoggerMessage(
        5,
        LogLevel.Warning,
        "Worker {Worker} stored item {Id} as a dead letter ({Reason}). Attempts: {Attempts}, calls of the processor in the last one: {Calls}.")]
    public static partial void DeadLettered(ILogger logger, string worker, string id, int attempts, int calls, DeadLetterReason reason);
}
