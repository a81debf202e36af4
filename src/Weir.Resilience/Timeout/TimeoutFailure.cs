namespace Weir.Resilience;

/// <summary>
/// Reports that a call timed out: an <see cref="OperationCanceledException"/> whose inner exception is a <see cref="TimeoutException"/>, as with
/// <c>HttpClient</c>.
/// </summary>
public static class TimeoutFailure
{
    /// <summary>Whether an exception means that a time limit passed, rather than that a call was cancelled.</summary>
    /// <param name="exception">A call's exception.</param>
    /// <returns>
    /// <see langword="true"/> for a <see cref="TimeoutException"/>, and for an <see cref="OperationCanceledException"/> with one as its inner exception.
    /// </returns>
    public static bool Is(Exception? exception) =>
        exception is TimeoutException or OperationCanceledException { InnerException: TimeoutException };

    /// <summary>A call passed its limit.</summary>
    internal static TaskCanceledException OfCall(TimeSpan limit)
    {
        CallTimeoutException reason = new(limit);
        return new TaskCanceledException(reason.Message, reason);
    }

    /// <summary>An attempt passed its limit.</summary>
    /// <param name="limit">The limit.</param>
    /// <param name="attempt">Its number; 0 if that is added later.</param>
    /// <param name="limitOf">Whose limit it is, if it is that of a run.</param>
    internal static TaskCanceledException OfAttempt(TimeSpan limit, int attempt, object? limitOf = null) =>
        new AttemptCanceledException(new AttemptTimeoutException(limit, attempt, limitOf));
}
