using Microsoft.Extensions.Logging;
using Weir.Delivery;

namespace Weir.Logging;

/// <summary>Writes log lines of work hosts through <c>Microsoft.Extensions.Logging</c>.</summary>
/// <remarks>
/// The lines, with their event ids, are listed in docs/reference/observability.md. A logger that throws changes nothing. The workers of Weir.Hosting have lines of their
/// own.
/// </remarks>
public static class HostLogging
{
    /// <summary>The options, with a log line for each attempt that failed, each dead letter that was stored, and for each failed call around the
    /// items.</summary>
    /// <typeparam name="T">The type of the items' values.</typeparam>
    /// <param name="options">The options. Their own <c>OnFailedAttempt</c>, <c>OnDeadLetter</c> and <c>OnFault</c> are called too, after the line
    /// was written.</param>
    /// <param name="loggerFactory">Where the lines go, under the category <see cref="RunLogging.Category"/>.</param>
    /// <returns>Changed options.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public static WorkHostOptions<T> WithLogging<T>(this WorkHostOptions<T> options, ILoggerFactory loggerFactory)
    {
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(loggerFactory);
        string name = options.OperationName ?? "";
        string host = Words.Host(name);
        FieldLogger logger = new(loggerFactory.CreateLogger(RunLogging.Category), new KeyValuePair<string, object?>("OperationName", name));
        Action<FailedAttempt>? thenAttempt = options.OnFailedAttempt;
        Action<DeadLetter>? thenLetter = options.OnDeadLetter;
        Action<Exception>? thenFault = options.OnFault;
        return options with
        {
            OnFailedAttempt = failed =>
            {
                LoggedRun.Write(() =>
                {
                    if (failed.NextAttemptIn is { } delay)
                    {
                        Lines.AttemptFailed(logger, failed.Error, host, failed.Id, failed.Source, failed.Attempt, delay.TotalSeconds);
                    }
                    else
                    {
                        Lines.LastAttemptFailed(logger, failed.Error, host, failed.Id, failed.Source, failed.Attempt);
                    }
                });
                thenAttempt?.Invoke(failed);
            },
            OnDeadLetter = letter =>
            {
                LoggedRun.Write(() => Lines.DeadLettered(
                    logger, host, letter.Id, letter.Source, letter.Reason.ToString(), letter.Attempts, letter.Calls));
                thenLetter?.Invoke(letter);
            },
            OnFault = fault =>
            {
                LoggedRun.Write(() => Lines.HostFault(logger, fault, host));
                thenFault?.Invoke(fault);
            },
        };
    }
}
