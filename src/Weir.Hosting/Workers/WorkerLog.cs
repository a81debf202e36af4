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

    [LoggerMessage(6, LogLevel.Warning, "Worker {Worker}: attempt {Attempt} of item {Id} has failed, and the next comes in {DelaySeconds} s.")]
    public static partial void AttemptFailed(ILogger logger, Exception error, string worker, string id, int attempt, double delaySeconds);

    [LoggerMessage(7, LogLevel.Warning, "Worker {Worker}: attempt {Attempt} of item {Id} has failed. It was the last.")]
    public static partial void LastAttemptFailed(ILogger logger, Exception error, string worker, string id, int attempt);

    [LoggerMessage(8, LogLevel.Error, "Worker {Worker} has ended: it failed in a way that no repetition mends.")]
    public static partial void Ended(ILogger logger, Exception failure, string worker);

    public static void Failed(ILogger logger, string worker, FailedAttempt failed)
    {
        if (failed.NextAttemptIn is { } delay)
        {
            AttemptFailed(logger, failed.Error, worker, failed.Id, failed.Attempt, delay.TotalSeconds);
        }
        else
        {
            LastAttemptFailed(logger, failed.Error, worker, failed.Id, failed.Attempt);
        }
    }
}
